// perdure/testing: a clock that a test owns, and the contract that every provider keeps.

export {
  casesWith,
  contractSubjects,
  providerContract,
  runCase,
  type ContractCase,
  type ContractOptions,
  type ContractSubject,
  type Need,
  type OpenedProvider,
  type OpenProvider,
  type Tampering,
} from "./conformance/index.ts";
export { VirtualEnvironment } from "./virtual-environment.ts";
