// A module that re-exports another module and adds one definition as its default export.

import { orchestration } from "../../../../src/index.ts";
import { pay } from "./orders.ts";

export * from "./orders.ts";
export { charge as chargeAgain } from "./orders.ts";

export default orchestration("shop", (ctx, cents: number) => ctx.call(pay, cents));
