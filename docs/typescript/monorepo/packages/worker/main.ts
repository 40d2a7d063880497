import * as definitions from "@shop/definitions";
import { Perdure } from "perdure";

const perdure = await Perdure.open(process.env["PERDURE_STORE"] ?? "sqlite:./shop.db", {
  register: [definitions],
});
process.once("SIGTERM", () => void perdure.close());
