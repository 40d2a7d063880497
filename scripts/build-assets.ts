// Copies what `tsc` leaves behind (SQL migrations, the schema of flow definitions) from src/ to the same place in dist/.

import { cpSync, globSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const assets = globSync(["**/*.sql", "**/*.schema.json"], { cwd: join(root, "src") }).sort();

for (const asset of assets) cpSync(join(root, "src", asset), join(root, "dist", asset));
console.log(`${assets.length} assets copied to dist/`);
