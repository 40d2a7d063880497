// perdure/testing: a whole runtime on a clock that the test owns, replays of recorded histories, and a store with
// faults. Needs no test runner; the contract of providers, which does, is perdure/testing/conformance.

export {
  checkReplay as replayHistory,
  type ReplayOptions,
  type ReplayResult,
} from "../runtime/check-replay.ts";
export {
  formatRecorded,
  parseRecorded,
  recordHistory,
  type RecordedHistory,
} from "../runtime/recorded-history.ts";
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
