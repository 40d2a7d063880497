// Deliberate bugs of streams and callbacks (patches.ts).

import type { Patch } from "./patches.ts";

const CONTRACT = "test/stores/conformance/sqlite.test.ts";
const STREAMS = "test/scenarios/streams/streams.test.ts";
const CRASHES = "test/faults/failpoints/streams.test.ts";
const CALLBACKS = "test/scenarios/callbacks/callbacks.test.ts";
const LATER = "test/scenarios/callbacks/complete-later.test.ts";

export const STREAM_PATCHES: readonly Patch[] = [
  {
    bug: "a retried activity writes again without a reset, so readers see its text twice",
    file: "src/core/provider/shared/streams.ts",
    from: "const from = current === null && call !== null ? call.since : null;",
    to: "const from = null;",
    tests: [CONTRACT, CRASHES],
    only: "writes a reset before its values|in the stream once",
  },
  {
    bug: "an append whose reply was lost is written again when it is repeated",
    file: "src/core/provider/shared/streams.ts",
    from: "const written = current?.written ?? 0;",
    to: "const written = current === null ? 0 : position;",
    tests: [CONTRACT],
    only: "a repeated append writes nothing",
  },
  {
    bug: "a worker that lost its task still appends to a stream",
    file: "src/sqlite/write/streams.ts",
    from: "t.sequence = ?3 AND t.lease_token = ?4",
    to: "t.sequence = ?3 AND ?4 IS NOT NULL",
    tests: [CONTRACT],
    only: "an append with another token is refused",
  },
  {
    bug: "a successful run also settles what an earlier run wrote to another stream",
    file: "src/sqlite/write/streams.ts",
    from: "AND call = ? AND lease_token = ?`);\n  readonly #selectId",
    to: "AND call = ? AND ? IS NOT NULL`);\n  readonly #selectId",
    tests: [CONTRACT],
    only: "are not settled if the successful run wrote elsewhere",
  },
  {
    bug: "a replay writes the values of the orchestration again",
    file: "src/core/context/stream-calls.ts",
    from: "if (!run.isReplaying && !run.isOver) run.effects.stream(name).values.push(text);",
    to: "if (!run.isOver) run.effects.stream(name).values.push(text);",
    tests: [STREAMS],
    only: "is in its stream once, also after a crash",
  },
  {
    bug: "the next execution writes to a stream that the previous one closed",
    file: "src/core/replay/execution-end.ts",
    from: "...(closedStreams.length === 0 ? {} : { closedStreams }),",
    to: "...(closedStreams.length >= 0 ? {} : { closedStreams }),",
    tests: [STREAMS],
    only: "also over continueAsNew",
  },
  {
    bug: "an activity appends to a closed stream",
    file: "src/core/provider/shared/streams.ts",
    from: "if (isClosed) return STREAM_CLOSED;",
    to: "if (isClosed && next < 0) return STREAM_CLOSED;",
    tests: [CONTRACT],
    only: "a closed stream accepts no append",
  },
  {
    bug: "the outcome of an activity is written before its last values",
    file: "src/runtime/attempts/activity-runner.ts",
    from: "running.streams.flushAll().then(",
    to: "Promise.resolve().then(",
    tests: [CRASHES],
  },
  {
    bug: "a reader of settled values receives those of a call that still runs",
    file: "src/client/streams/stream-hub.ts",
    from: "return open === -1 ? chunks : chunks.slice(0, open);",
    to: "return open === -1 ? chunks : chunks.slice(0);",
    tests: [STREAMS],
    only: "a settled reader waits at an open call",
  },
  {
    bug: "the value of a callback that is completed twice is delivered twice",
    file: "src/sql/write/callbacks.ts",
    from: 'if (earlier !== null) return earlier.outcome === "done" ? DONE : CALLBACK_CLOSED;',
    to: 'if (earlier !== null && earlier.outcome !== "done") return CALLBACK_CLOSED;',
    tests: [CALLBACKS, CRASHES],
    only: "a repeated call changes nothing|completes each callback once",
  },
  {
    bug: "a callback that lost its race still accepts a value",
    file: "src/sql/write/callbacks.ts",
    from: 'else yield* run(INSERT, instance, requestId, "closed", execution, null);',
    to: "else yield* run(REOPEN, instance, requestId);",
    tests: [CALLBACKS],
    only: "loses a race is closed",
  },
  {
    bug: "a worker leases an activity that completes later before its time is over",
    file: "src/sql/write/deferred-tasks.ts",
    from: "SET deferred_until = $5::bigint, available_at = $6::bigint,",
    to: "SET deferred_until = $5::bigint, available_at = least($6::bigint, available_at),",
    tests: [CONTRACT, LATER],
    only: "a deferred task without a timeout|survives deploys and crashes",
  },
  {
    bug: "a failure for an earlier attempt ends the current one",
    file: "src/sql/write/deferred-tasks.ts",
    from: "if (call.attempt !== attempts) return DONE;",
    to: "if (call.attempt > attempts) return DONE;",
    tests: [LATER],
    only: "a failure from outside is a failed attempt",
  },
  {
    bug: "a token of a deleted instance completes the instance that has its id now",
    file: "src/sql/write/callbacks.ts",
    from: "return current === runId && newest === execution && !isTerminalStatus(status);",
    to: "return current.length === runId.length && newest === execution && !isTerminalStatus(status);",
    tests: [CONTRACT, CALLBACKS],
    only: "a callback of another run|does not accept old tokens",
  },
  {
    bug: "a token with a changed payload is accepted",
    file: "src/client/callbacks/token.ts",
    from: "if (!isSigned) throw invalidToken();",
    to: "if (!isSigned && secrets.length === 0) throw invalidToken();",
    tests: [CALLBACKS],
    only: "a forged one is not ours",
  },
];
