// Effect's workflows (@effect/workflow on @effect/cluster) on PostgreSQL.
//   Recommended: a cluster of one runner in this process, `SingleRunner` with its state in SQL, the defaults of its
//   sharding (it polls its message table every 10 s and is notified of its own messages), @effect/sql-pg's pool of 10.
//   Tuned: messages and replies polled every 100 ms, mailboxes without a bound, a pool of 20.
//   `execute` both starts and waits; called again with the same id it waits for the same execution. `start` here
//   returns before the instance is durable, which is to Effect's advantage.

import { ClusterWorkflowEngine, SingleRunner } from "@effect/cluster";
import { PgClient } from "@effect/sql-pg";
import { Activity, DurableDeferred, Workflow } from "@effect/workflow";
import { Effect, Layer, Logger, LogLevel, ManagedRuntime, Redacted, Schema } from "effect";
import type { Adapter, Input, Program, Work } from "../peer.ts";

const POOL = { recommended: 10, tuned: 20 };
const TUNED = {
  entityMessagePollInterval: 100,
  entityReplyPollInterval: 100,
  entityMailboxCapacity: "unbounded",
} as const;

const payload = { id: Schema.String, n: Schema.Number, value: Schema.Number };
const success = Schema.Number;
const idempotencyKey = ({ id }: Input): string => id;
const Row = Workflow.make({ name: "row", payload, success, idempotencyKey });
const Fan = Workflow.make({ name: "fan", payload, success, idempotencyKey });
const Wait = Workflow.make({ name: "wait", payload, success, idempotencyKey });
const Go = DurableDeferred.make("go", { success });

export const adapter: Adapter = {
  async open({ database, tuned }, work) {
    if (database === null) throw new Error("Effect runs on PostgreSQL here.");
    const layer = programs(work).pipe(
      Layer.provideMerge(ClusterWorkflowEngine.layer),
      Layer.provideMerge(
        SingleRunner.layer({ runnerStorage: "sql", shardingConfig: tuned ? TUNED : {} }),
      ),
      Layer.provideMerge(
        PgClient.layer({
          url: Redacted.make(database.url),
          maxConnections: tuned ? POOL.tuned : POOL.recommended,
        }),
      ),
      Layer.provide(Logger.minimumLogLevel(LogLevel.Error)),
    );
    const runtime = ManagedRuntime.make(layer);
    await runtime.runPromise(Effect.void); // builds the layers
    const workflows = { row: Row, fan: Fan, wait: Wait };
    const running = new Map<string, Promise<number>>();
    const execute = (key: string): Promise<number> => {
      const { program, input } = JSON.parse(key) as { program: Program; input: Input };
      return runtime.runPromise(workflows[program].execute(input));
    };
    return {
      start(program, input) {
        const key = JSON.stringify({ program, input });
        const result = execute(key);
        result.catch(() => {}); // the caller of `result` gets the error
        running.set(key, result);
        return Promise.resolve(key);
      },
      result: (key) => running.get(key) ?? execute(key),
      async signal(_, input) {
        const send = Effect.gen(function* () {
          const executionId = yield* Wait.executionId(input);
          const token = DurableDeferred.tokenFromExecutionId(Go, { workflow: Wait, executionId });
          yield* DurableDeferred.succeed(Go, { token, value: input.value });
        });
        await runtime.runPromise(send);
        return true;
      },
      close: () => runtime.dispose(),
    };
  },
};

function programs(work: Work) {
  const step = (id: string, index: number, value: number) =>
    Activity.make({
      name: `step-${index}`,
      success,
      execute: Effect.promise(() => work.step(value, { id, index })),
    });
  const row = Row.toLayer(({ id, n, value }) =>
    Effect.gen(function* () {
      let last = value;
      for (let i = 0; i < n; i++) last = yield* step(id, i, last);
      return last;
    }),
  );
  const fan = Fan.toLayer(({ id, n }) =>
    Effect.gen(function* () {
      const steps = Array.from({ length: n }, (_, i) => step(id, i, i));
      const results = yield* Effect.all(steps, { concurrency: "unbounded" });
      return results.reduce((sum, value) => sum + value, 0);
    }),
  );
  const wait = Wait.toLayer(({ id }) =>
    Effect.gen(function* () {
      work.waits(id);
      return yield* DurableDeferred.await(Go);
    }),
  );
  return Layer.mergeAll(row, fan, wait);
}
