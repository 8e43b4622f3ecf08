// In a component. The bundler takes this file for `#output` under the condition `plumbline`.
export { emit } from "plumbline:plugin/output@0.1.0";
