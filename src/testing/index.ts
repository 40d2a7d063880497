// perdure/testing: a clock that a test owns. Needs no test runner; the contract of providers, which does, is
// perdure/testing/conformance.

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
export { VirtualEnvironment } from "./virtual-environment.ts";
