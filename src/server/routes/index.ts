// Every route, in the order of the document.

import type { Route } from "../route.ts";
import { bulkRoutes } from "./bulk.ts";
import { documentRoutes } from "./document.ts";
import { flowRoutes } from "./flow.ts";
import { inspectRoutes } from "./inspect.ts";
import { instanceRoutes } from "./instances.ts";
import { lifecycleRoutes } from "./lifecycle.ts";
import { nodeRoutes } from "./nodes.ts";
import { sessionRoutes } from "./session.ts";
import { storeRoutes } from "./store.ts";
import { streamRoutes } from "./streams.ts";
import { waitingRoutes } from "./waiting.ts";

export const ROUTES: readonly Route[] = [
  ...instanceRoutes,
  ...lifecycleRoutes,
  ...inspectRoutes,
  ...flowRoutes,
  ...nodeRoutes,
  ...waitingRoutes,
  ...streamRoutes,
  ...bulkRoutes,
  ...storeRoutes,
  ...sessionRoutes,
  ...documentRoutes,
];
