// node examples/agent/main.ts [chat | script | worker]: talk to the agent, run the scripted conversation, or run an
// extra worker. All state is in the folder: kill the program at any moment, start it again, and it continues.

import { mkdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Perdure, type Duration } from "../../src/index.ts";
import { defineAgent } from "./agent.ts";
import { chat } from "./chat.ts";
import { runScript, SCRIPT_LIMITS } from "./script.ts";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: {
    folder: { type: "string", default: join(tmpdir(), "perdure-agent") },
    docs: { type: "string", default: join(import.meta.dirname, "..", "..", "docs") },
    id: { type: "string" },
    pace: { type: "string", default: "40" },
    approval: { type: "string", default: "2m" },
    worker: { type: "boolean", default: true },
  },
});
const [mode = "chat"] = positionals;
const workspace = join(values.folder, "workspace");
mkdirSync(workspace, { recursive: true });

const paceMs = Number(values.pace);
const { agent, register } = defineAgent({ workspace, docs: values.docs, paceMs });
const perdure = await Perdure.open(`sqlite:${join(values.folder, "agent.db")}`, {
  register,
  autoStart: values.worker || mode === "worker",
  runtime: {
    // If the system cannot prove that a process is gone (no /proc), a second without heartbeats is enough.
    beatMs: 250,
    staleMs: 1_000,
    log: (level, message) => {
      if (level === "warn" || level === "error") console.error(`(${message})`);
    },
  },
});
const leave = (): void => void perdure.close().then(() => process.exit());
process.once("SIGINT", leave);
process.once("SIGTERM", leave);

const limits = { approvalTimeout: values.approval as Duration }; // parsed by ctx.sleep
if (mode === "worker") {
  console.log(`Process ${process.pid} works for the conversations in ${values.folder}.`);
  await perdure.runtime.stopped;
} else if (mode === "script") {
  const handle = await perdure.client.start(
    agent,
    { ...SCRIPT_LIMITS, ...limits },
    { id: values.id ?? "scripted", onConflict: "useExisting" },
  );
  const { answered, spent, executions } = await runScript(handle, paceMs * 10);
  console.log(readFileSync(join(workspace, "chat.md"), "utf8"));
  console.log(`${answered} messages answered in ${executions} executions for ${spent} tokens.`);
} else {
  const handle = await perdure.client.start(
    agent,
    { budget: 2_000, turnsPerExecution: 20, ...limits },
    { id: values.id ?? "agent", onConflict: "useExisting" },
  );
  if ((await handle.describe()).completedAt !== undefined) await handle.restart(); // the conversation was ended with "bye" before
  await chat(handle);
}
await perdure.close();
