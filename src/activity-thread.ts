// The entry file of an activity thread: passes the thread a function that creates the client of its
// activities.

import { Client } from "./client/client.ts";
import { serveThread } from "./runtime/threads/thread-main.ts";

await serveThread((provider, options) => new Client(provider, options));
