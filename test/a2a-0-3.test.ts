/** Agents of A2A 0.3 on the SDK's own server. */
import { roundTrips } from "./fixtures/a2a/round-trips.ts";

roundTrips("0.3");
