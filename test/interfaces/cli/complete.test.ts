// perdure complete: values, addresses, failures, repeated and late commands.

import { expect, test } from "vitest";
import { orchestration, Perdure } from "../../../src/index.ts";
import { Project } from "./support.ts";

const SECRET = "a-secret-of-at-least-32-bytes-for-tests";
const CONFIG = `import { defineConfig } from "perdure";
export default defineConfig({
  callbacks: { secrets: ["${SECRET}"], baseUrl: "https://example.com/callbacks" },
});
`;
const waits = orchestration("waits", async (ctx) => {
  const answer = ctx.callback("answer");
  ctx.kv.set("url", answer.url);
  return await answer;
});

async function running(files: Record<string, string> = { "perdure.config.ts": CONFIG }) {
  const project = new Project(files);
  const perdure = await Perdure.open(`sqlite:${project.file}`, {
    register: [waits],
    runtime: { log: () => undefined },
    callbacks: { secrets: [SECRET], baseUrl: "https://example.com/callbacks" },
  });
  const handle = await perdure.client.start(waits, undefined, { id: "w" });
  const url = await handle.kv.waitFor<string>("url");
  return { project, perdure, handle, url, token: url.slice(url.lastIndexOf("/") + 1) };
}

test("perdure complete sends a value, by token and by address, and a repeated command changes nothing", async () => {
  const { project, perdure, handle, url, token } = await running();
  const sent = await project.run(["complete", token, "--value", '{"ok":true}']);
  expect(sent).toMatchObject({
    code: 0,
    stdout: "✓ callback answer of w: completed\n",
    stderr: "",
  });
  expect(await handle.result()).toEqual({ ok: true });
  const again = await project.run(["complete", url, "--json"]);
  expect(again.json()).toEqual({ id: "w", kind: "callback", name: "answer", status: "completed" });
  expect(await handle.result()).toEqual({ ok: true });
  await perdure.close({ graceMs: 0 });
});

test("perdure complete refuses invalid tokens, failures of callbacks, closed callbacks and contradicting options", async () => {
  const { project, perdure, token } = await running();
  const forged = await project.run(["complete", `${token}x`]);
  expect([forged.code, forged.stderr]).toEqual([2, expect.stringContaining("TOKEN_INVALID")]);
  const failed = await project.run(["complete", token, "--fail", "no"]);
  expect([failed.code, failed.stderr]).toEqual([2, expect.stringContaining("completeLater")]);
  expect((await project.run(["complete", token, "--value", "1", "--fail", "x"])).code).toBe(2);
  expect((await project.run(["complete", token, "--no-retry"])).code).toBe(2);
  await perdure.client.delete("w", { force: true });
  const closed = await project.run(["complete", token]);
  expect([closed.code, closed.stderr]).toEqual([4, expect.stringContaining("CALLBACK_CLOSED")]);
  await perdure.close({ graceMs: 0 });
});

test("perdure complete without secrets in the config says how to set them", async () => {
  const { project, perdure, token } = await running({});
  const refused = await project.run(["complete", token]);
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("secrets, baseUrl")]);
  await perdure.close({ graceMs: 0 });
});
