// The parts of the source that are mutated, and the tests that must detect the mutants.
//   - Only fast tests without a server, a browser or a second process: each mutant costs a run of them.
//   - A mutant that only other tests would detect counts as survived.
//   - A pattern that matches no file is an error: otherwise a file that moves would no longer be mutated.
//   - An equivalent mutant behaves like the original for every caller. Each one listed here has a reason, and it must
//        survive: an entry that fits no surviving mutant fails the command, so the list cannot hide a gap.

import { globSync } from "node:fs";

/** A change that no test can detect, and why. */
export interface Equivalent {
  readonly file: string;
  /** The lines of the source in which such a change begins, without indentation. */
  readonly lines: readonly string[];
  /** The code that changes, and what it becomes, each with single spaces; absent: all changes on the lines. */
  readonly change?: readonly [code: string, becomes: string];
  readonly because: string;
}

export interface Part {
  readonly name: string;
  readonly mutate: readonly string[];
  readonly tests: readonly string[];
  /** Titles of tests that are slow, or that this runner cannot run. */
  readonly without?: readonly string[];
  readonly equivalent?: readonly Equivalent[];
}

const SLOW_REPLAYS = [
  "an instance can run many executions",
  "300 random programs issue the same commands from every prefix of their history",
  "2,000 function branches run and are cancelled",
  "2,000 parallel tasks run, finish in any order and replay",
  "large payloads pass through unchanged",
  "an entity refuses bad inputs and large states, and keeps its state",
  "many instances write and read many keys concurrently, and each reads its values",
  "the parent of a child that fails by nondeterminism receives a ChildError",
];

/** They use `expect.poll`, which needs a Vitest worker. */
const POLLING_CASES = [
  "the window is counted from the time by which a worker says it entered its tasks",
  "a resume notifies workers that tasks wait (provider.queues.6)",
];

export const PARTS: readonly Part[] = [
  {
    name: "codec",
    mutate: ["src/core/values/{codec,bigint,bytes,decode,encode,path,plain,class-tags}.ts"],
    tests: [
      "test/unit/core/values/codec.test.ts",
      "test/unit/core/values/codec-{edges,format,refusals}.test.ts",
    ],
    without: [
      "a graph of shared objects that would expand to too many copies is refused",
      "random values",
      "errors nested deeper are refused, with a shortened path",
    ],
  },
  {
    name: "authorisation",
    mutate: [
      "src/server/security/access.ts",
      "src/server/security/origin-check.ts",
      "src/server/security/roles.ts",
      "src/server/security/sessions.ts",
      "src/server/security/token-file.ts",
      "src/server/security/tokens.ts",
    ],
    tests: ["test/interfaces/server/authorisation.test.ts"],
  },
  {
    name: "leases",
    mutate: ["src/sqlite/{lease/leases,write/turn,lease/tasks}.ts", "src/sql/lease/runtimes.ts"],
    tests: [
      "scripts/mutation/contract.test.ts",
      "test/unit/sqlite/{leases,notifications,turns}.test.ts",
    ],
    without: POLLING_CASES,
  },
  {
    name: "holding",
    mutate: [
      "src/runtime/instances/{lease-renewal,held-instances,local-starts,lost-leases}.ts",
      "src/runtime/health/liveness.ts",
    ],
    tests: [
      "test/unit/runtime/instances/{local-starts,held-instances,lease-renewal}.test.ts",
      "test/unit/runtime/health/liveness.test.ts",
      "test/scenarios/lifecycle/leases.test.ts",
    ],
  },
  {
    name: "replay",
    mutate: [
      "src/core/replay/{run,calls,cancel,delivery,run-options,run-scope,run-state-commands,run-state}.ts",
      "src/core/replay/{orchestration-main,inbox-delivery,execution-end,effects}.ts",
      "src/core/context/combinators.ts",
    ],
    tests: [
      "test/replay/**/*.test.ts",
      "test/operations/{rewind,rewind-edges}.test.ts",
      "test/scenarios/requests/*.test.ts",
      "test/scenarios/callbacks/callbacks.test.ts",
      "test/scenarios/children/*.test.ts",
      "test/scenarios/cancellation/{cancellation-of-work,cancellation-timing,compensation}.test.ts",
      "test/scenarios/events/{event-waits,kept,unread-messages,wait-timeouts}.test.ts",
      "test/scenarios/lifecycle/{blocked,continue-as-new,nondeterminism}.test.ts",
      "test/scenarios/state/*.test.ts",
      "test/scenarios/activities/{activity-timeouts,step-retry}.test.ts",
      "test/scenarios/{context/context,streams/streams}.test.ts",
      "test/features/routing/{poison,poison-chain,undecodable}.test.ts",
    ],
    without: SLOW_REPLAYS,
    equivalent: [
      {
        file: "src/core/replay/effects.ts",
        lines: [
          'case "StepCancelRequested":',
          'case "ChildCancelRequested": // cancelChild adds the effect, because its caller has the id of the child',
          'case "StatusSet": // stateChangeOf derives this effect when the turn is committed',
          'case "KeyValueSet":',
          'case "KeyValueCleared":',
          'case "AttributesSet":',
          'case "StepScheduled":',
          'case "EventSubscribed":',
          'case "EventSubscriptionCancelled":',
          'case "CallbackCreated":',
          'case "AskCancelled": // cancelAsk adds the effect',
          'case "SendObserved": // outgoing-calls.ts adds the effect',
          'case "RequestsServed":',
          'case "RequestsClosed":',
          'case "RequestAnswered": // request-call.ts adds the effect, because it has the request',
          'case "RequestRefused":',
        ],
        because:
          "These commands have no effect here. The list makes the compiler check that no command was forgotten; " +
          "a command that no case matches also has none.",
      },
    ],
  },
  {
    name: "matching",
    mutate: ["src/core/replay/{fork,mailbox}.ts", "src/core/history/{matching,rows}.ts"],
    tests: [
      "test/unit/core/history/{matching,rows}.test.ts",
      "test/unit/core/replay/mailbox.test.ts",
      "test/replay/**/*.test.ts",
      "test/operations/{rewind,rewind-edges}.test.ts",
    ],
    without: SLOW_REPLAYS,
    equivalent: [
      {
        file: "src/core/replay/fork.ts",
        lines: [
          'case "step": // the runtime runs it after the commit, like every open step',
          'case "event":',
          'case "requests":',
        ],
        because:
          "Nothing is scheduled for these calls. The list makes the compiler check that no call was forgotten; " +
          "a call that no case matches is left alone too.",
      },
    ],
  },
  {
    name: "repair",
    mutate: ["src/core/repair/{cut,past,replace}.ts"],
    tests: [
      "test/unit/core/repair/{cut,past,replace}.test.ts",
      "test/operations/{rewind,rewind-edges}.test.ts",
    ],
  },
  {
    name: "queues",
    mutate: ["src/core/provider/shared/{queue-admission,task-choice,blame}.ts"],
    tests: [
      "test/unit/core/provider/{queue-admission,task-choice}.test.ts",
      "scripts/mutation/contract.test.ts",
    ],
    without: POLLING_CASES,
  },
  {
    name: "callbacks",
    mutate: [
      "src/client/callbacks/{signer,token}.ts",
      "src/callback/{signatures,verifiers}.ts",
      "src/core/ids/callback-messages.ts",
      "src/core/provider/shared/streams.ts",
    ],
    tests: [
      "test/unit/client/callbacks/{signer,token}.test.ts",
      "test/unit/callback/{timestamps,verifiers}.test.ts",
      "test/unit/core/ids/callback-messages.test.ts",
      "test/unit/core/provider/streams.test.ts",
      "test/scenarios/callbacks/{callbacks,complete-later}.test.ts",
      "scripts/mutation/contract.test.ts",
    ],
  },
];

export function partNamed(name: string | undefined): Part {
  const part = PARTS.find((one) => one.name === name);
  if (part === undefined) {
    const names = PARTS.map((one) => one.name).join(", ");
    throw new Error(`Unknown part ${String(name)}; choose from ${names}.`);
  }
  return part;
}

/** The files of the patterns. Throws if a pattern, or one of the alternatives in its braces, matches none. */
export function filesOf(patterns: readonly string[]): readonly string[] {
  return patterns.flatMap(alternatives).flatMap((pattern) => {
    const files = globSync(pattern).toSorted();
    if (files.length === 0) throw new Error(`No file matches ${pattern}.`);
    return files;
  });
}

function alternatives(pattern: string): readonly string[] {
  const [, before, inner, after] = /^(.*?)\{(.*?)\}(.*)$/.exec(pattern) ?? [];
  if (inner === undefined) return [pattern];
  return inner.split(",").flatMap((each) => alternatives(`${before}${each}${after}`));
}
