import Hummingbird

extension PCF {
    /// Handlers of `/v1/geofence`, for back ends, and `/v1/geofences`, for devices.
    struct Geofences: Sendable {
        let store: any Store
        let clock: any WallClock
        let options: Options
        let places: PlaceService

        func list(_ request: Request, of application: Application) async throws -> Response {
            let query = try GeoListQuery(request)
            let listing = try await store.geofences(of: application.key, query)
            return .written { json in
                json.listing(listing, query, key: "geofences", total: "totalGeofences") { $0.geofence($1) }
            }
        }

        func show(_ key: Key<Geofence>, of application: Application) async throws -> Response {
            reply(try await PCF.found("geofence \(key)") { try await store.geofence(key, of: application.key) })
        }

        func create(_ request: Request, for application: Application) async throws -> Response {
            let unknown = UnknownFields(of: application)
            let body = try GeofenceRequest.parse(try await request.bytes(atMost: options.bodyBytesMax), unknown)
            let plan = try body.plan(over: nil)
            let mistakes = try body.mistakes(in: plan, unknown, at: clock.now)
            let geofence = try await places.create(plan, of: application, by: .backEnd(of: application))
            return reply(geofence).warning(of: mistakes)
        }

        func update(
            _ key: Key<Geofence>, _ request: Request, of application: Application
        ) async throws -> Response {
            let unknown = UnknownFields(of: application)
            let body = try GeofenceRequest.parse(try await request.bytes(atMost: options.bodyBytesMax), unknown)
            let now = clock.now
            let shown = try await store.geofence(key, of: application.key)?.locations ?? []
            let geofence = try await PCF.found("geofence \(key)") {
                try await places.update(key, of: application, by: .backEnd(of: application)) { old in
                    let plan = try body.plan(over: old, shown: shown)
                    _ = try body.mistakes(in: plan, unknown, at: now)
                    return plan
                }
            }
            return reply(geofence).warning(of: try body.mistakes(in: geofence.plan, unknown, at: now))
        }

        func delete(_ key: Key<Geofence>, of application: Application) async throws -> Response {
            try await PCF.found("geofence \(key)") {
                try await places.delete(key, of: application, by: .backEnd(of: application))
            }
            return Response(status: .noContent)
        }

        /// The geofence changes for a device. The authenticated platform decides; a non-numeric `timestamp` counts as
        /// missing, since a client could only retry.
        func updates(_ request: Request, on platform: Platform) async throws -> Response {
            let since = request.uri.queryParameters["timestamp"].flatMap { Int64($0) } ?? 0
            let updates = try await store.geofenceUpdates(since: Instant(milliseconds: since), on: platform)
            return .object { json in
                json.integer("num", Int64(updates.geofences.count))
                json.integer("last_modified", updates.lastModified.milliseconds)
                json.integers("deleted_geofence_ids", updates.gone.map(\.rawValue))
                json.array("geofences", updates.geofences) { $0.geofence($1, for: platform.kind) }
            }
        }

        private func reply(_ geofence: Geofence) -> Response { .written { $0.geofence(geofence) } }
    }
}

extension JSONWriter {
    /// Every field, always.
    ///
    /// - Parameter kind: the platform type of the requesting device; nil for a back end.
    fileprivate mutating func geofence(_ geofence: Geofence, for kind: PlatformKind? = nil) {
        let plan = geofence.plan
        object { json in
            json.integer("id", geofence.key.rawValue)
            json.strings("tags", plan.tags)
            json.integer("expiry_time", plan.expiresAt.milliseconds)
            json.string("trigger_type", plan.trigger.rawValue)
            json.array("locations", geofence.locations) { $0.location($1) }
            // Ours: a back end of the original finds the locations alone.
            if kind == nil, !plan.groups.isEmpty { json.integers("location_groups", plan.groups.map(\.rawValue)) }
            json.string("platform", plan.platform.rawValue)
            json.integer("created_at", geofence.createdAt.milliseconds)
            json.integer("updated_at", geofence.updatedAt.milliseconds)
            json.value("data", .object(plan.data.shown(to: kind)))
            json.integer("start_time", plan.startsAt.milliseconds)
        }
    }
}

extension GeofenceData {
    /// The form that client SDKs read. Source: docs/compatibility/pcf.md.
    fileprivate func shown(to kind: PlatformKind?) -> JSONObject {
        var parts = parts
        if case .object(var notification) = parts["ios"] {
            // The documentation has one name for the badge, the iOS SDK reads another.
            let names = ["applicationBadgeNumber", "applicationIconBadgeNumber"]
            if let badge = names.lazy.compactMap({ notification[$0] }).first {
                for name in names { notification[name] = badge }
            }
            parts["ios"] = .object(notification)
        }
        // The FCM SDK reads an undocumented key.
        if kind == .androidFCM, parts["androidFcm"] == nil { parts["androidFcm"] = parts["android"] }
        return parts
    }
}
