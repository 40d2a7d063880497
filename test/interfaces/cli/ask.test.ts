// perdure ask: answers, refusals, timeouts, repeated requests, and the history of requests.

import { expect, test } from "vitest";
import { orchestration, Perdure, request } from "../../../src/index.ts";
import { Project } from "./support.ts";

const add = request<{ sku: string }, number>("add");
const relay = request<string, number>("relay");

const cart = orchestration("cart", async (ctx, max: number) => {
  const skus: string[] = [];
  void ctx.serve(request<undefined>("fail"), async () => {
    throw new TypeError("not that");
  });
  void ctx.serve(request<undefined, Date>("when"), async () => new Date(0));
  for await (const call of ctx.requests(add)) {
    if (skus.length === max) call.refuse("cart is full");
    else call.answer(skus.push(call.input.sku));
  }
});
const shop = orchestration("shop", async (ctx) => {
  for await (const call of ctx.requests(relay)) {
    call.answer(await ctx.ask("c", add, { sku: call.input }));
  }
});

async function running(): Promise<{ project: Project; perdure: Perdure }> {
  const project = new Project();
  const perdure = await Perdure.open(`sqlite:${project.file}`, {
    register: [cart, shop],
    runtime: { log: () => undefined },
  });
  await perdure.client.start(cart, 2, { id: "c" });
  return { project, perdure };
}

test("perdure ask prints the answer, and refusals with their own exit code", async () => {
  const { project, perdure } = await running();
  const asked = await project.run(["ask", "c", "add", '{"sku":"a"}', "--request-id", "r1"]);
  expect(asked).toMatchObject({ code: 0, stdout: "1\n", stderr: "" });
  const again = ["ask", "c", "add", "-", "--request-id", "r1", "--json"];
  const json = await project.run(again, { input: '{"sku":"a"}' });
  expect(json.json()).toEqual({ id: "c", request: "add", answer: 1 });
  const other = await project.run(["ask", "c", "add", '{"sku":"b"}', "--request-id", "r1"]);
  expect(other).toMatchObject({ code: 1 });
  expect(other.stderr).toContain("(KEY_REUSED)");
  expect((await project.run("ask c when --json")).json()).toEqual({
    id: "c",
    request: "when",
    answer: { $perdure: ["~d", 0] },
  });
  await project.run(["ask", "c", "add", '{"sku":"b"}']);
  const refused = await project.run(["ask", "c", "add", '{"sku":"c"}']);
  expect(refused).toMatchObject({
    code: 12,
    stdout: "",
    stderr: "✗ c refused add: cart is full\n",
  });
  const failed = await project.run("ask c fail");
  expect(failed).toMatchObject({
    code: 12,
    stderr: "✗ c failed to handle fail: TypeError: not that\n",
  });
  const asJson = await project.run("ask c fail --json");
  expect(asJson).toMatchObject({ code: 12, stdout: "" });
  expect(JSON.parse(asJson.stderr)).toEqual({
    error: { code: "REQUEST_REFUSED", message: "not that" },
  });
  await perdure.close({ graceMs: 0 });
});

test("perdure ask gives the reason if the instance does not answer, is missing or has ended", async () => {
  const { project, perdure } = await running();
  const handle = perdure.client.get("c");
  await handle.pause("stocktaking");
  const late = await project.run(["ask", "c", "add", '{"sku":"a"}', "--timeout", "50ms"]);
  expect(late).toMatchObject({ code: 7, stdout: "" });
  expect(late.stderr).toBe(
    'error: Instance "c" did not answer request "add" within 50ms: it is paused: stocktaking. (TIMEOUT)\n',
  );
  const shown = await project.run("get c");
  expect(shown.stdout).toMatch(/^Unread events\n {2}request add \{ sku: 'a' \}$/m);
  expect(await project.run("ask x add 1")).toMatchObject({ code: 3 });
  expect(await project.run("ask c add oops")).toMatchObject({ code: 2 });
  expect(await project.run("ask c add 1 --timeout soon")).toMatchObject({ code: 2 });
  await handle.terminate();
  expect(await project.run("ask c add 1")).toMatchObject({ code: 4 });
  await perdure.close({ graceMs: 0 });
});

test("get and history show requests and asks", async () => {
  const { project, perdure } = await running();
  await perdure.client.start(shop, undefined, { id: "s" });
  expect(await perdure.client.get("s").ask(relay, "a", { requestId: "r1" })).toBe(1);
  const get = await project.run("get s");
  expect(get.stdout).toMatch(/^ {2}#2 requests relay$/m);
  expect(get.stdout).toMatch(/^#2 … requests relay /m);
  expect(get.stdout).toMatch(/^#\d+ ✓ ask add /m);
  const served = (await project.run("history s")).stdout;
  expect(served).toMatch(/RequestsServed relay$/m);
  expect(served).toMatch(/RequestReceived relay as r1 from a client {2}'a'$/m);
  expect(served).toMatch(/AskSent add to c {2}\{ sku: 'a' \}$/m);
  expect(served).toMatch(/AskCompleted of #\d+ {2}1$/m);
  expect(served).toMatch(/RequestAnswered of #\d+ {2}1$/m);
  const asked = (await project.run("history c")).stdout;
  expect(asked).toMatch(/RequestReceived add as \S+ from s {2}\{ sku: 'a' \}$/m);
  await perdure.close({ graceMs: 0 });
});
