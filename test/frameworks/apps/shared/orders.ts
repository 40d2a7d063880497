// The definitions and options of all applications. README.md explains the variables.

import { appendFileSync } from "node:fs";
import process from "node:process";
import { activity, orchestration, type ActivityContext } from "perdure";
import type { TokenEntry } from "perdure/server";
import { PREFIX } from "../../settings.ts";

declare module "perdure" {
  interface Context {
    readonly tenant?: string;
  }
}

export interface Payment {
  readonly id: string;
  readonly cents: number;
}

function setting(name: string): string {
  return process.env[name] ?? "";
}

/** A line of the record: which activity ran, for which order and tenant. */
function record(what: string, id: string, tenant: string | undefined): void {
  appendFileSync(setting("RECORD"), `${what} ${id} ${tenant}\n`);
}

export const reserve = activity("reserve", async (id: string, ctx) => {
  record("reserve", id, ctx.context.tenant);
  return `reserved ${id}`;
});
/** The function of the activity in which the runner kills the process. */
export async function chargeCard(payment: Payment, ctx: ActivityContext): Promise<string> {
  record("charge", payment.id, ctx.context.tenant);
  if (setting("HOLD") !== "") await new Promise(() => undefined);
  return `charged ${payment.cents}`;
}
const charge = activity("charge", chargeCard);
export const ship = activity("ship", async (id: string, ctx) => {
  record("ship", id, ctx.context.tenant);
  return `shipped ${id}`;
});

export const order = orchestration("order", async (ctx, input: { cents: number }) => [
  await ctx.run(reserve, ctx.info.instanceId),
  await ctx.run(charge, { id: ctx.info.instanceId, cents: input.cents }),
  await ctx.run(ship, ctx.info.instanceId),
]);

export const options = {
  store: setting("STORE") || "sqlite::memory:", // a build has no settings
  register: [reserve, charge, ship, order],
  prefix: PREFIX,
  server: { tokens: JSON.parse(setting("TOKENS") || "[]") as TokenEntry[] },
};

export function port(): number {
  return Number(setting("PORT"));
}
