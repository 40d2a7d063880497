// Request and response: a running instance that answers. docs/cookbook/request-response.md shows this file.

import { orchestration, request, type Client } from "../../src/index.ts";

interface Bid {
  readonly by: string;
  readonly cents: number;
}
export const bid = request<Bid, string>("bid");

export const auction = orchestration("auction", async (ctx, lowest: number) => {
  let best: Bid | null = null;
  const bids = ctx.serve(bid, (offer, call) => {
    const least = best === null ? lowest : best.cents + 1;
    if (offer.cents < least) return call.refuse(`bid at least ${least}`);
    best = offer;
    return `${offer.by} leads with ${offer.cents}`;
  });
  await ctx.sleep("1h");
  bids.cancel();
  return best as Bid | null;
});

/** For an HTTP handler. `click` is an id of the browser: a repeated request counts once. */
export const placeBid = (client: Client, id: string, offer: Bid, click: string) =>
  client.get(id).ask(bid, offer, { requestId: click, timeout: "5s" });
