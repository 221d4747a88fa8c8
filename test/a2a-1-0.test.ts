/** Agents of A2A 1.0 on the SDK's own server. */
import { roundTrips } from "./fixtures/a2a/round-trips.ts";

roundTrips("1.0");
