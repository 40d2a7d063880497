// All routes, in the order of the OpenAPI document.
//   - A route is a row of data (http/route.ts): path, role, schemas and handler. The router, the OpenAPI
//        document and the access tests are generated from these rows.

import type { Route } from "../http/route.ts";
import { builtInRoutes } from "./built-ins.ts";
import { bulkRoutes } from "./bulk.ts";
import { callbackRoutes } from "./callbacks.ts";
import { documentRoutes } from "./document.ts";
import { flowRoutes } from "./flow.ts";
import { inspectRoutes } from "./inspect.ts";
import { instanceStreamRoutes } from "./instance-streams.ts";
import { instanceRoutes } from "./instances.ts";
import { lifecycleRoutes } from "./lifecycle.ts";
import { nodeRoutes } from "./nodes.ts";
import { queueRoutes } from "./queues.ts";
import { repairRoutes } from "./repairs.ts";
import { requestRoutes } from "./requests.ts";
import { sessionRoutes } from "./session.ts";
import { storeRoutes } from "./store.ts";
import { streamRoutes } from "./streams.ts";
import { waitingRoutes } from "./waiting.ts";

export const ROUTES: readonly Route[] = [
  ...instanceRoutes,
  ...lifecycleRoutes,
  ...repairRoutes,
  ...inspectRoutes,
  ...flowRoutes,
  ...nodeRoutes,
  ...waitingRoutes,
  ...requestRoutes,
  ...callbackRoutes,
  ...streamRoutes,
  ...instanceStreamRoutes,
  ...bulkRoutes,
  ...queueRoutes,
  ...builtInRoutes,
  ...storeRoutes,
  ...sessionRoutes,
  ...documentRoutes,
];
