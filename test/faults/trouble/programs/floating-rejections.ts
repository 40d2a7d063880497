// User code with unhandled rejections: `floating-rejections.ts <kind>`.

import { activity, orchestration, Perdure, type LogSink } from "../../../../src/index.ts";
import { say } from "./say.ts";

const kind = process.argv[2] ?? "";

const log: LogSink = (level, message, fields) => {
  const { error, ...rest } = fields;
  say("log", { level, message, error: error instanceof Error ? error.message : error, ...rest });
};
const later = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

const leaky = activity("leaky", async () => {
  void Promise.reject(new Error("left behind at once"));
  void later().then(() => Promise.reject(new Error("left behind later")));
  return "done";
});
const doubly = activity("doubly", async () => {
  const lost = Promise.reject(new Error("lost"));
  void lost.then(() => undefined); // a second rejecting promise, in addition to the thrown one
  throw new Error("thrown");
});
const raiser = activity("raiser", () => Promise.reject(new Error("only thrown")));
const quiet = activity("quiet", () => later());

const ours = [
  orchestration("leaky activity", async (ctx) => ctx.run(leaky)),
  orchestration("activity that also throws", async (ctx) => {
    const [settled] = await ctx.allSettled([ctx.run(doubly)]);
    return settled.status;
  }),
  orchestration("leaky step", async (ctx) =>
    ctx.step("sloppy", () => {
      void Promise.reject(new Error("left behind by a step"));
      return "done";
    }),
  ),
  orchestration("leaky code", async (ctx) => {
    void Promise.reject(new Error("left behind by code"));
    void (async () => {
      await ctx.run(raiser);
    })();
    await ctx.run(quiet);
    return "done";
  }),
  orchestration("tasks without an await", async (ctx) => {
    void ctx.run(raiser);
    void ctx.step("fails", () => Promise.reject(new Error("step failed")));
    await ctx.run(quiet);
    await ctx.run(quiet);
    return "done";
  }),
];

if (kind === "unrelated with a handler") {
  process.on("uncaughtException", (error) => say("uncaught", { error: error.message }));
}
if (kind === "user's own listener") {
  process.on("unhandledRejection", (reason) => say("theirs", { reason: String(reason) }));
}
const register = [...ours, leaky, doubly, raiser, quiet];
const perdure = await Perdure.open("sqlite::memory:", { register, runtime: { log } });
say("open");
if (kind === "non-error") void Promise.reject("just a text");
else if (kind !== "ours" && kind !== "unrelated after the end") {
  void Promise.reject(new Error("not Perdure's business"));
}
await later();
for (const work of ours) {
  const handle = await perdure.client.start(work, undefined, { id: `an instance of ${work.name}` });
  await handle.result();
}
await later();
await later();
await perdure.close();
say("closed");
if (kind === "unrelated after the end") void Promise.reject(new Error("not Perdure's business"));
await later();
say("alive");
