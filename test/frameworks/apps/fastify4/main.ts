// An application on Fastify 4.

import fastify, { type FastifyRequest } from "fastify4";
import { perdureFastify } from "perdure/fastify";
import { options, order, port } from "../shared/orders.ts";

const perdure = perdureFastify({
  ...options,
  context: (request: FastifyRequest) => ({ tenant: String(request.headers["x-tenant"]) }),
});
const app = fastify();
await app.register(perdure);
app.post<{ Params: { id: string }; Body: { cents: number } }>("/orders/:id", async (request) => {
  const client = await perdure.client();
  const handle = await client.start(order, request.body, { id: request.params.id });
  return { id: handle.id };
});
await app.listen({ port: port(), host: "127.0.0.1" });
