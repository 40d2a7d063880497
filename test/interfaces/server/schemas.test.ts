// Schemas of inputs and events over HTTP: the server has no definitions, so the worker checks what it receives.

import { expect, test } from "vitest";
import { event, orchestration } from "../../../src/index.ts";
import { digits, digitsLater } from "../../support/schemas.ts";
import { openScene, untilWaiting } from "./support.ts";

const amount = event("amount", digits);
const pay = orchestration("pay", async (ctx, n: number) => [n, await ctx.waitFor(amount)], {
  input: digits,
});

test("the worker converts an input that was sent over HTTP, and refuses a wrong one", async () => {
  const scene = await openScene({}, [pay]);
  const client = scene.as("operator");
  const handle = await client.start(pay, "5", { id: "p" });
  await untilWaiting(scene.perdure, "p");
  await handle.raise("amount", "7");
  expect(await handle.result()).toEqual([5, 7]);
  const body = { name: "pay", id: "wrong", input: "five" };
  expect((await scene.call("operator", "POST", "/instances", { body })).status).toBe(201);
  await expect(client.get("wrong").result()).rejects.toMatchObject({
    message: expect.stringContaining('Invalid input of "pay": must be digits, got "five".'),
    cause: { code: "INVALID_ARGUMENT", path: "$" },
  });
  const [started] = (await client.get("wrong").history()).events;
  expect(started).toMatchObject({ input: "five", refused: { code: "INVALID_ARGUMENT" } });
});

test("HttpClient refuses an asynchronous schema before it sends anything", async () => {
  const later = orchestration("later", async (_ctx, n: number) => n, { input: digitsLater });
  const scene = await openScene({}, [later]);
  await expect(scene.as("operator").start(later, "5")).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringContaining("must be synchronous for a start over HTTP"),
  });
  expect(await scene.as("viewer").count()).toBe(0);
});

test("the list of unread events says why a schema refused an event", async () => {
  const scene = await openScene({}, [pay]);
  const handle = await scene.as("operator").start("pay", "5", { id: "p" });
  await untilWaiting(scene.perdure, "p");
  await handle.raise("amount", "seven");
  const message = 'Invalid event "amount": must be digits, got "seven".';
  const refused = { code: "INVALID_ARGUMENT", message, path: "$" };
  await expect
    .poll(async () => (await handle.unread()).items)
    .toEqual([{ name: "amount", data: "seven", refused }]);
});
