// In a component. The bundler takes this file for `#judgement` under the condition `plumbline`.
export { report, rule } from "plumbline:plugin/judgement@0.1.0";
