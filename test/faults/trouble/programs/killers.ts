// A worker whose work ends its process: `programs/killers.ts <store address> <code>`. Code "fixed" registers the same
// orchestrations with functions that do not end the process.

import { activity, orchestration, Perdure, type RuntimeOptions } from "../../../../src/index.ts";
import { openAddress } from "../../kill/store-address.ts";
import { say } from "./say.ts";

const [address = "", code = ""] = process.argv.slice(2);
const EXIT_CODE = 7;

const wait = activity("wait", async (ms: number, { attempt }) => {
  await new Promise((resolve) => setTimeout(resolve, ms));
  return attempt;
});
const innocent = orchestration("innocent", async (ctx, ms: number) => {
  const attempt = await ctx.run(wait, ms);
  await ctx.step("wait", () => new Promise((resolve) => setTimeout(resolve, 20)));
  return attempt;
});
const killing = [
  orchestration("kills in its turn", async (ctx) => {
    say("dying", { instance: ctx.info.instanceId });
    process.exit(EXIT_CODE);
  }),
  orchestration("kills in its step", async (ctx) => {
    const { instanceId } = ctx.info;
    await ctx.step("kill", () => {
      say("dying", { instance: instanceId });
      process.exit(EXIT_CODE);
    });
  }),
  orchestration("kills after its step", async (ctx) => {
    await ctx.step("nothing", () => undefined);
    say("dying", { instance: ctx.info.instanceId });
    process.exit(EXIT_CODE);
  }),
];
const fixed = killing.map(({ name }) =>
  orchestration(name, async (ctx) => ctx.step("kill", () => "fixed")),
);

const runtime: RuntimeOptions = {
  attemptsMax: 3,
  shadowReplay: "never",
  log: (level, message, fields) => say("log", { level, message, ...fields }),
};
const register = [wait, innocent, ...(code === "fixed" ? fixed : killing)];
await Perdure.open(await openAddress(address), { register, runtime });
say("ready");
