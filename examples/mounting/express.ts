// Express 4 and 5: const app = express(); mountExpress(app, ordersHandler(perdure.client)); app.listen(3000);

import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { FetchHandler } from "./handler.ts";

/** The used part of an Express application; `express()` returns one. */
export interface ExpressLike {
  use(middleware: (req: IncomingMessage, res: ServerResponse, next: () => void) => void): unknown;
}

/** Mount it before `express.json()`: the handler reads the body itself. */
export function mountExpress(app: ExpressLike, handler: FetchHandler): void {
  const listener = getRequestListener(handler);
  app.use((req, res, next) => {
    if (req.url?.startsWith("/orders/") === true) void listener(req, res);
    else next();
  });
}
