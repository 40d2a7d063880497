// The flow under test: branches, items, a signal, a timer, and a loop whose history is compacted.

import { activity, event, type Activity, type ActivityContext } from "../../../src/index.ts";
import { flow, again, done } from "../../../src/flow/index.ts";
import { FLOW_ROUNDS, type Job } from "./jobs.ts";
import type { Entry, Work } from "./orchestrations.ts";

interface Loop extends Job {
  readonly heard: number;
  readonly value: number;
  readonly round: number;
}
interface Joined {
  readonly job: Job;
  readonly alone: number;
  readonly each: readonly number[];
  readonly heard: number;
}
type Logged = <T>(entry: Entry, ms: number, fn: () => T) => Promise<T>;

export function definedFlow(work: Activity<Work, number>, logged: Logged) {
  /** Wraps an inline function of the flow, so that its runs are logged like any other work. */
  const inline =
    <I, O>(fn: (input: I) => O) =>
    (input: I, { attempt, idempotencyKey: key, info }: ActivityContext): Promise<O> => {
      const { activity: name, instanceId: instance } = info;
      return logged({ kind: "activity", name, instance, key, attempt }, 1, () => fn(input));
    };
  const rest = activity(
    "flow rest",
    inline((job: Job) => job),
  );
  return flow<Job>("flow", { compactAfter: 20 })
    .fork({
      job: (f) => f.then(rest).delay("rest", 20),
      alone: (f) =>
        f
          .then(
            "input",
            inline((job: Job) => ({ ...job, salt: 0 })),
          )
          .then("work", work),
      each: (f) =>
        f.map(
          "m",
          inline((job: Job) => [1, 2, 3].map((salt) => ({ ...job, salt }))),
          (g) => g.then("work", work),
          { concurrency: 2 },
        ),
      heard: (f) => f.waitFor(event<number>("news")),
    })
    .then(
      "join",
      inline(({ job, alone, each, heard }: Joined): Loop => {
        const value = [alone, ...each].reduce((a, b) => a + b, 0);
        return { ...job, heard, value, round: 0 };
      }),
    )
    .loop(
      "rounds",
      (f) =>
        f
          .fork({
            state: (g) => g,
            next: (g) =>
              g
                .then(
                  "input",
                  inline(({ value, ms, round }: Loop) => ({ seed: value, salt: round, ms })),
                )
                .then("work", work),
          })
          .then(
            "end",
            inline(({ state, next }: { state: Loop; next: number }) =>
              state.round + 1 < FLOW_ROUNDS
                ? again({ ...state, value: next, round: state.round + 1 })
                : done({ heard: state.heard, value: next }),
            ),
          ),
      { maxIterations: FLOW_ROUNDS },
    )
    .build();
}
