// Next.js (App Router): this file is app/orders/[...path]/route.ts, with "perdure" in place of the relative paths.
// next.config: serverExternalPackages: ["perdure"], so that Next does not bundle it.
//   One process runs one runtime, although Next loads this module more than once during development: the runtime is
//   stored on globalThis. Where functions are frozen between requests (serverless), use only a client here and run the
//   runtime elsewhere: nothing advances while a process is frozen.

import { Perdure } from "../../src/index.ts";
import { ordersHandler } from "./handler.ts";
import { fulfil, ship } from "./orders.ts";

export const runtime = "nodejs";
export const dynamic = "force-dynamic";

declare global {
  var openOrders: Promise<Perdure> | undefined;
}

function opened(): Promise<Perdure> {
  const address = `sqlite:${process.env["ORDERS_DB"] ?? "./orders.db"}`;
  return (globalThis.openOrders ??= Perdure.open(address, { register: [fulfil, ship] }));
}

async function handle(request: Request): Promise<Response> {
  const { client } = await opened();
  return ordersHandler(client)(request);
}

export { handle as GET, handle as POST, handle as PUT };
