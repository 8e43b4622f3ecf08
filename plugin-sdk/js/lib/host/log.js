// For components. The bundler uses this file for `#log` under the condition `plumbline`.
export { write } from "plumbline:plugin/log@0.1.0";
