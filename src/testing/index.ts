// perdure/testing: a clock that a test owns. Needs no test runner; the contract of providers, which does, is
// perdure/testing/conformance.

export { VirtualEnvironment } from "./virtual-environment.ts";
