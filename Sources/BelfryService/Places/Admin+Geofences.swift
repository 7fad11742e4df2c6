import FoundationEssentials
import Hummingbird

extension Admin {
    /// Geofences of an application: `/admin/v1/apps/:app_uuid/geofences`. Devices are notified of each change.
    struct Geofences: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.application(.get, "apps/:app_uuid/geofences", .read, list),
                factory.application(.post, "apps/:app_uuid/geofences", .change, create),
                factory.application(.get, "apps/:app_uuid/geofences/:geofence_id", .read, show),
                factory.application(.patch, "apps/:app_uuid/geofences/:geofence_id", .change, update),
                factory.application(.delete, "apps/:app_uuid/geofences/:geofence_id", .change, delete),
            ]
        }

        private func list(_ call: Call, _ application: Application) async throws -> Response {
            let query = try GeoListQuery(call)
            let found = try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await factory.store.geofences(of: application.key, query)
            }
            return try Response(
                GeofencesReply(
                    total: found.total, geofences: found.elements.map(GeofenceReply.init),
                    next_cursor: found.end.map { Cursor($0).text }))
        }

        private func create(_ call: Call, _ application: Application) async throws -> Response {
            let body = try await call.body(as: GeofenceBody.self)
            let geofence = try await naming {
                try await factory.services.places.create(
                    try body.plan(at: factory.clock.now), of: application, by: call.author)
            }
            return try .created(GeofenceReply(geofence))
        }

        /// Errors name the fields of the body.
        private func naming<Reply>(_ change: () async throws -> Reply) async throws -> Reply {
            do { return try await change() } catch let error as InvalidInput {
                let name = error.field.prefix { $0 != "[" }
                let field = (GeofenceBody.names[String(name)] ?? String(name)) + error.field[name.endIndex...]
                throw InvalidInput(field: field, error.problem, isTooLarge: error.isTooLarge)
            }
        }

        private func show(_ call: Call, _ application: Application) async throws -> Response {
            let geofence = try await found(call, application)
            return try Response(GeofenceReply(geofence)).tagged(EntityTag(geofence.plan))
        }

        /// Missing fields keep their values.
        private func update(_ call: Call, _ application: Application) async throws -> Response {
            guard let key: Key<Geofence> = call.key("geofence_id") else { throw APIError.missing("geofence") }
            let body = try await call.body(as: GeofenceBody.self)
            let geofence = try await naming {
                try await factory.services.places.update(key, of: application, by: call.author) { old in
                    try call.demandMatch(EntityTag(old))
                    return try body.plan(over: old, at: factory.clock.now)
                }
            }
            return try Response(GeofenceReply(geofence)).tagged(EntityTag(geofence.plan))
        }

        private func delete(_ call: Call, _ application: Application) async throws -> Response {
            guard let key: Key<Geofence> = call.key("geofence_id") else { throw APIError.missing("geofence") }
            _ = try await factory.unlessDamaged { try await found(call, application) }
            try await factory.services.places.delete(key, of: application, by: call.author)
            return Response(status: .noContent)
        }

        private func found(_ call: Call, _ application: Application) async throws -> Geofence {
            let key: Key<Geofence> = try call.key("geofence_id").orMissing("geofence")
            return try await factory.store.geofence(key, of: application.key).orMissing("geofence")
        }
    }

    private struct GeofenceBody: Body, Sendable {
        static let fields = [
            "location_ids", "location_group_ids", "trigger", "platform", "topics", "data", "starts_at", "expires_at",
        ]
        /// By the names that geofences have for them.
        static let names = [
            "locations": "location_ids", "location_groups": "location_group_ids", "tags": "topics",
            "start_time": "starts_at", "expiry_time": "expires_at",
        ]
        private var locations: [Key<Location>]?
        private var groups: [Key<LocationGroup>]?
        private var trigger: GeofencePlan.Trigger?
        private var platform: GeofencePlatform?
        private var topics: [String]?
        private var data: JSONObject?
        private var startsAt: Instant?
        private var expiresAt: Instant?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "location_ids": locations = try reader.keys(field)
            case "location_group_ids": groups = try reader.keys(field)
            case "trigger": trigger = try reader.choice(field)
            case "platform": platform = try reader.choice(field)
            case "topics": topics = try reader.strings(field)
            case "data": data = try reader.members(field)
            case "starts_at": startsAt = try reader.instant(field)
            default: expiresAt = try reader.instant(field)
            }
        }

        func plan(over old: GeofencePlan? = nil, at now: Instant) throws(InvalidInput) -> GeofencePlan {
            if let expiresAt, expiresAt <= now { throw InvalidInput.over("expires_at", expiresAt, now) }
            guard let trigger = trigger ?? old?.trigger else { throw InvalidInput.missing("trigger") }
            guard let expiresAt = expiresAt ?? old?.expiresAt else { throw InvalidInput.missing("expires_at") }
            var tags = old?.tags ?? []
            if let topics { tags = try Topic.tags(topics, field: "topics") }
            var plannedData = try GeofenceData(data ?? [:])
            if data == nil, let old { plannedData = old.data }
            if data != nil, let stranger = plannedData.strangers.first(where: { $0.meant != nil }) {
                throw InvalidInput.unknown(
                    stranger.prefix + stranger.key, stranger.key, notOf: "a key that devices read",
                    known: stranger.known, meant: stranger.meant)
            }
            return try GeofencePlan(
                locations: locations ?? old?.locations ?? [], groups: groups ?? old?.groups ?? [], trigger: trigger,
                platform: platform ?? old?.platform ?? .all, tags: tags, data: plannedData,
                startsAt: startsAt ?? old?.startsAt ?? .zero, expiresAt: expiresAt)
        }
    }
}
