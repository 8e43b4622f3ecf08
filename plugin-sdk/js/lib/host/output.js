// For components. The bundler uses this file for `#output` under the condition `plumbline`.
export { emit } from "plumbline:plugin/output@0.1.0";
