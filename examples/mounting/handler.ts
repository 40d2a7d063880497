// The one handler that every framework mounts: a Request comes in, a Response goes out.
//   PUT  /orders/:id           starts an order; a repeated call finds the first order
//   GET  /orders/:id           returns its state
//   POST /orders/:id/approval  approves it

import { type Client, isPerdureError } from "../../src/index.ts";
import { approval, fulfil, type Order } from "./orders.ts";

export type FetchHandler = (request: Request) => Promise<Response>;

export function ordersHandler(client: Client): FetchHandler {
  return async (request) => {
    const [, id = "", action] = /^\/orders\/([^/]+)(?:\/([^/]+))?$/.exec(pathOf(request)) ?? [];
    try {
      switch (`${request.method} ${action ?? ""}`) {
        case "PUT ": {
          const order = (await request.json()) as Order; // a schema on `fulfil` would check it
          const handle = await client.start(fulfil, order, { id, onConflict: "useExisting" });
          return Response.json({ id: handle.id }, { status: 202 });
        }
        case "GET ": {
          const { status, output } = await client.get(fulfil, id).describe();
          return Response.json({ id, status, output });
        }
        case "POST approval": {
          const { by } = (await request.json()) as { by: string };
          await client.get(fulfil, id).raise(approval, { by });
          return new Response(null, { status: 202 });
        }
        default:
          return Response.json({ error: "no such resource" }, { status: 404 });
      }
    } catch (error) {
      return refusal(error);
    }
  };
}

/** Error codes are part of the API and map to statuses. An error without a code is a bug; the framework reports it. */
function refusal(error: unknown): Response {
  if (!isPerdureError(error)) throw error;
  const status = {
    INSTANCE_NOT_FOUND: 404,
    INSTANCE_FINISHED: 409,
    INVALID_ARGUMENT: 400,
  } as const;
  const known = Object.entries(status).find(([code]) => code === error.code)?.[1];
  return Response.json({ error: error.message, code: error.code }, { status: known ?? 503 });
}

function pathOf(request: Request): string {
  return new URL(request.url).pathname;
}
