import FoundationEssentials
import Hummingbird

extension Admin {
    /// Location groups of an application: `/admin/v1/apps/:app_uuid/location-groups`.
    struct LocationGroups: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.application(.get, "apps/:app_uuid/location-groups", .read, list),
                factory.application(.post, "apps/:app_uuid/location-groups", .change, create),
                factory.application(.get, "apps/:app_uuid/location-groups/:group_id", .read, show),
                factory.application(.patch, "apps/:app_uuid/location-groups/:group_id", .change, update),
                factory.application(.delete, "apps/:app_uuid/location-groups/:group_id", .change, delete),
            ]
        }

        private func list(_ call: Call, _ application: Application) async throws -> Response {
            let query = try GeoListQuery(call)
            let found = try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await factory.store.locationGroups(of: application.key, query)
            }
            return try Response(
                LocationGroupsReply(
                    total: found.total, location_groups: found.elements.map(LocationGroupReply.init),
                    next_cursor: found.end.map { Cursor($0).text }))
        }

        private func create(_ call: Call, _ application: Application) async throws -> Response {
            let plan = try await call.body(as: GroupBody.self).plan()
            return try .created(
                LocationGroupReply(try await factory.services.places.create(plan, of: application, by: call.author)))
        }

        private func show(_ call: Call, _ application: Application) async throws -> Response {
            let group = try await found(call, application)
            return try Response(LocationGroupReply(group)).tagged(EntityTag(group.plan))
        }

        /// Missing fields keep their values.
        private func update(_ call: Call, _ application: Application) async throws -> Response {
            guard let key: Key<LocationGroup> = call.key("group_id") else { throw APIError.missing("location group") }
            let body = try await call.body(as: GroupBody.self)
            let group = try await factory.services.places.update(key, of: application, by: call.author) { old in
                try call.demandMatch(EntityTag(old))
                return try body.plan(over: old)
            }
            return try Response(LocationGroupReply(group)).tagged(EntityTag(group.plan))
        }

        private func delete(_ call: Call, _ application: Application) async throws -> Response {
            guard let key: Key<LocationGroup> = call.key("group_id") else { throw APIError.missing("location group") }
            let group = try await factory.unlessDamaged { try await found(call, application) }
            try await factory.services.places.delete(key, named: group?.name, of: application, by: call.author)
            return Response(status: .noContent)
        }

        private func found(_ call: Call, _ application: Application) async throws -> LocationGroup {
            let key: Key<LocationGroup> = try call.key("group_id").orMissing("location group")
            return try await factory.store.locationGroup(key, of: application.key).orMissing("location group")
        }
    }

    private struct GroupBody: Body, Sendable {
        static let fields = ["name", "description", "location_ids"]
        private var name: String?
        private var summary: String?
        private var locations: [Key<Location>]?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "name": name = try reader.string(field)
            case "description": summary = try reader.string(field)
            default: locations = try reader.keys(field)
            }
        }

        func plan(over old: LocationGroupPlan? = nil) throws(InvalidInput) -> LocationGroupPlan {
            guard let name = name ?? old?.name else { throw InvalidInput.missing("name") }
            return try LocationGroupPlan(
                name: name, summary: summary ?? old?.summary ?? "", locations: locations ?? old?.locations ?? [])
        }
    }
}

extension JSONReader {
    /// The keys of things, in an array.
    mutating func keys<Noun>(_ field: String) throws(InvalidInput) -> [Key<Noun>] {
        var keys: [Key<Noun>] = []
        try array(field) { reader, index throws(InvalidInput) in
            guard let number = try reader.integer("\(field)[\(index)]") else {
                throw InvalidInput.missing("\(field)[\(index)]")
            }
            keys.append(Key(number))
        }
        return keys
    }
}
