// POST /orders/<id> starts an order in the context of the request.

import { order } from "../../../../shared/orders.ts";
import { perdure } from "../../../perdure.ts";

export async function POST(
  request: Request,
  { params }: { params: Promise<{ id: string }> },
): Promise<Response> {
  const { id } = await params;
  const input = (await request.json()) as { cents: number };
  return perdure.inRequest(request.headers, async (client) => {
    const handle = await client.start(order, input, { id });
    return Response.json({ id: handle.id });
  });
}
