// The walk "A bad deploy" of docs/walks.md: orders fail after their cards were charged, and one command repairs them.

import { expect, test } from "vitest";
import { activity, orchestration, Perdure, type Registrable } from "../../../src/index.ts";
import { Project, runOnTerminal } from "./support.ts";

const ORDERS = process.env["PERDURE_FULL"] === "1" ? 1_000 : 50;

test("one command repairs all orders of a bad deploy, and each card is charged once", async () => {
  const charges: { readonly order: number; readonly key: string }[] = [];
  const charge = activity("charge", async (order: number, { idempotencyKey: key }) => {
    charges.push({ order, key });
    return `receipt ${order}`;
  });
  const placeOrder = orchestration("placeOrder", async (ctx, order: number) => {
    const receipt = await ctx.run(charge, order);
    return ctx.run<string, string>("ship", receipt);
  });
  const project = new Project();
  const deploy = (ship: Registrable) =>
    Perdure.open(`sqlite:${project.file}`, {
      register: [placeOrder, charge, ship],
      runtime: { log: () => undefined },
    });

  const bad = await deploy(
    activity("ship", async (receipt: { readonly address: { readonly city: string } }) => {
      return receipt.address.city; // the receipt is a text
    }),
  );
  const items = Array.from({ length: ORDERS }, (_, order) => ({ input: order, id: `o-${order}` }));
  const ids = await bad.client.startMany(placeOrder, items);
  const failed = await Promise.allSettled(ids.map((id) => bad.client.get(id).result()));
  expect(failed.every(({ status }) => status === "rejected")).toBe(true);
  expect(charges).toHaveLength(ORDERS);
  await bad.close();

  const good = await deploy(activity("ship", async (receipt: string) => `${receipt} shipped`));
  const env = { PERDURE_STORE: `sqlite:${project.file}`, NO_COLOR: "1" };
  const command = "retry --status failed --name placeOrder --yes --reason fixed --by ada";
  const retried = await runOnTerminal(command, { cwd: project.folder, env });
  expect(retried).toMatchObject({ code: 0, stdout: `✓ ${ORDERS} instances retried\n` });

  const outputs = await Promise.all(ids.map((id) => good.client.get(id).result()));
  expect(outputs).toEqual(items.map(({ input }) => `receipt ${input} shipped`));
  expect(charges).toHaveLength(ORDERS);
  expect(new Set(charges.map(({ key }) => key)).size).toBe(ORDERS);
  expect(new Set(charges.map(({ order }) => order)).size).toBe(ORDERS);
  expect((await good.client.get("o-7").describe()).repairs).toMatchObject([
    { kind: "rewind", reason: "fixed", by: "ada" },
  ]);
  await good.close();
});
