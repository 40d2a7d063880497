// Executors, progress and the client in an activity: typed without a cast.

import {
  activity,
  orchestration,
  threads,
  type Client,
  type Executor,
  type ExecutorTask,
  type Handle,
  type OrchestrationContext,
  type RuntimeOptions,
  type Threads,
} from "perdure";
import { expectTypeOf } from "../../support/expect-type.ts";

declare const ctx: OrchestrationContext;
const child = orchestration("child", async (_ctx, n: number) => `${n}`);

// The context of an activity has a typed client.
activity("delegates", async (n: number, { client, progress }) => {
  expectTypeOf(client).is<Client>();
  const handle = await client.start(child, n);
  expectTypeOf(handle).is<Handle<string>>();
  // @ts-expect-error the child takes a number
  await client.start(child, "n");
  progress({ any: ["value", n] });
  // @ts-expect-error progress needs a value
  progress();
});

// A step has no client and no progress.
ctx.step("s", (step) => {
  // @ts-expect-error a step has no client
  step.client;
  // @ts-expect-error a step has no progress
  step.progress(1);
});

// The definition or the runtime sets the executor of an activity, not the call.
const cpu = threads({ module: new URL("./work.ts", import.meta.url), size: 4 });
expectTypeOf(cpu).is<Threads>();
const hash = activity("hash", (text: string) => text.length, { executor: cpu });
activity("here", () => 1, { executor: "process" });
// @ts-expect-error a call has no executor option
ctx.run(hash, "text", { executor: cpu });
const runtime: RuntimeOptions = { executor: cpu };
const mine: Executor = (task) => {
  expectTypeOf(task).is<ExecutorTask>();
  expectTypeOf(task.input).is<unknown>();
  expectTypeOf(task.context.client).is<Client>();
  return task.name;
};
const late: Executor = async ({ name }) => name;
// @ts-expect-error an unknown executor
const nowhere: Executor = "moon";
// @ts-expect-error threads need a module
threads({ size: 4 });
// @ts-expect-error no such option
threads({ module: "file:///work.ts", count: 4 });
