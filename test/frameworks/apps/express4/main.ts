// An application on Express 4.

import express, { type Request } from "express4";
import { perdureExpress } from "perdure/express";
import { options, order, port } from "../shared/orders.ts";

const perdure = perdureExpress({
  ...options,
  context: (request: Request) => ({ tenant: request.get("x-tenant") }),
});
const app = express();
app.use(perdure);
app.use(express.json());
app.post("/orders/:id", (request, response, next) => {
  const start = async (): Promise<void> => {
    const client = await perdure.client();
    const { id = "" } = request.params;
    const handle = await client.start(order, request.body as { cents: number }, { id });
    response.json({ id: handle.id });
  };
  start().catch(next);
});
perdure.closeWith(app.listen(port(), "127.0.0.1"));
