// perdure/testing: a runtime on virtual time for tests, replay of recorded histories, and fault injection.
//   kit/          TestEnvironment: a runtime on an in-memory store, on virtual time, with activity mocks.
//   faults/       Injected faults of store calls; tests that crash or fail a scenario at every call.
//   simulation/   Deterministic simulation of several processes with random faults, replayable by seed.
//   conformance/  The contract of providers as test cases (perdure/testing/conformance). Needs a test runner.
//   The other files: virtual time, seeded random numbers, replay of histories, the provider stress test.

export {
  checkReplay as replayHistory,
  type ReplayOptions,
  type ReplayResult,
} from "../runtime/replay/check-replay.ts";
export {
  formatRecorded,
  parseRecorded,
  recordHistory,
  type RecordedHistory,
} from "../runtime/replay/recorded-history.ts";
export { crashEverywhere, type CrashOptions, type CrashReport } from "./faults/crash-everywhere.ts";
export {
  CALL_FAULTS,
  failEveryCall,
  type CallFault,
  type FailEveryCallOptions,
  type FailEveryCallReport,
  type FailureScenario,
} from "./faults/fail-every-call.ts";
export {
  FaultInjectingProvider,
  faultyProvider,
  type FaultObserver,
} from "./faults/fault-injecting-provider.ts";
export {
  durableWrites,
  faultAt,
  type Fault,
  type FaultPlan,
  type Moment,
} from "./faults/fault-plan.ts";
export type { StoreCall, StoreMethod, StoreMethods } from "./faults/store-methods.ts";
export type { ActivityCall, MockFunction, MockOf, MockOutcome } from "./kit/activity-mocks.ts";
export { TestEnvironment } from "./kit/test-environment.ts";
export type { LogLine, TestEnvironmentOptions } from "./kit/test-environment-options.ts";
export { blockDiff } from "./block-diff.ts";
export type { FoundHistory } from "./history-sources.ts";
export {
  replayHistories,
  type BrokenHistory,
  type HistorySource,
  type ReplayedHistory,
  type ReplayHistoriesOptions,
  type ReplayReport,
} from "./replay-histories.ts";
export { stressProvider, type StressOptions, type StressReport } from "./stress.ts";
export { VirtualEnvironment, type VirtualEnvironmentOptions } from "./virtual-environment.ts";
