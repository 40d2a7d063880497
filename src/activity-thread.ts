// The file that an activity thread begins with: gives the thread's server the client that its activities see.

import { Client } from "./client/client.ts";
import { serveThread } from "./runtime/thread-main.ts";

await serveThread((provider, options) => new Client(provider, options));
