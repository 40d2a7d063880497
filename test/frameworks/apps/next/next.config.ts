// The package finds its dashboard and threads by their location, so Next.js must not bundle it. The root is the folder of
// node_modules.

import { join } from "node:path";
import type { NextConfig } from "next";

const config: NextConfig = {
  serverExternalPackages: ["perdure"],
  turbopack: { root: join(import.meta.dirname, "../..") },
};
export default config;
