// For components. The bundler uses this file for `#judgement` under the condition `plumbline`.
export { report, rule } from "plumbline:plugin/judgement@0.1.0";
