import FoundationEssentials
import Hummingbird

extension Admin {
    /// Locations of an application: `/admin/v1/apps/:app_uuid/locations`.
    struct Locations: Sendable {
        let factory: RouteFactory

        var routes: [Route] {
            [
                factory.application(.get, "apps/:app_uuid/locations", .read, list),
                factory.application(.post, "apps/:app_uuid/locations", .change, create),
                factory.application(.get, "apps/:app_uuid/locations/:location_id", .read, show),
                factory.application(.patch, "apps/:app_uuid/locations/:location_id", .change, update),
                factory.application(.delete, "apps/:app_uuid/locations/:location_id", .change, delete),
            ]
        }

        private func list(_ call: Call, _ application: Application) async throws -> Response {
            let query = try GeoListQuery(call)
            let found = try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await factory.store.locations(of: application.key, query)
            }
            return try Response(
                LocationsReply(
                    total: found.total, locations: found.elements.map(LocationReply.init),
                    next_cursor: found.end.map { Cursor($0).text }))
        }

        private func create(_ call: Call, _ application: Application) async throws -> Response {
            let place = try await call.body(as: PlaceBody.self).place()
            return try .created(
                LocationReply(try await factory.services.places.create(place, of: application, by: call.author)))
        }

        private func show(_ call: Call, _ application: Application) async throws -> Response {
            let key: Key<Location> = try call.key("location_id").orMissing("location")
            let location = try await factory.store.location(key, of: application.key).orMissing("location")
            return try Response(LocationReply(location)).tagged(EntityTag(location.place))
        }

        /// Missing fields keep their values.
        private func update(_ call: Call, _ application: Application) async throws -> Response {
            guard let key: Key<Location> = call.key("location_id") else { throw APIError.missing("location") }
            let body = try await call.body(as: PlaceBody.self)
            let location = try await factory.services.places.update(key, of: application, by: call.author) { old in
                try call.demandMatch(EntityTag(old))
                return try body.place(over: old)
            }
            return try Response(LocationReply(location)).tagged(EntityTag(location.place))
        }

        private func delete(_ call: Call, _ application: Application) async throws -> Response {
            guard let key: Key<Location> = call.key("location_id") else { throw APIError.missing("location") }
            let location = try await factory.unlessDamaged {
                try await factory.store.location(key, of: application.key).orMissing("location")
            }
            try await factory.services.places.delete(key, named: location?.place.name, of: application, by: call.author)
            return Response(status: .noContent)
        }
    }

    private struct PlaceBody: Body, Sendable {
        static let fields = ["name", "latitude", "longitude", "radius"]
        private var name: String?
        private var latitude: Double?
        private var longitude: Double?
        private var radius: Double?

        mutating func read(_ field: String, from reader: inout JSONReader) throws(InvalidInput) {
            switch field {
            case "name": name = try reader.string(field)
            case "latitude": latitude = try reader.number(field)
            case "longitude": longitude = try reader.number(field)
            default: radius = try reader.number(field)
            }
        }

        func place(over old: Place? = nil) throws(InvalidInput) -> Place {
            guard let name = name ?? old?.name else { throw InvalidInput.missing("name") }
            guard let latitude = latitude ?? old?.latitude else { throw InvalidInput.missing("latitude") }
            guard let longitude = longitude ?? old?.longitude else { throw InvalidInput.missing("longitude") }
            guard let radius = radius ?? old?.radius else { throw InvalidInput.missing("radius") }
            do {
                return try Place(name: name, latitude: latitude, longitude: longitude, radius: radius)
            } catch {
                throw error.renamed(["lat": "latitude", "long": "longitude", "rad": "radius"])
            }
        }
    }
}

extension GeoListQuery {
    init(_ call: Admin.Call) throws(InvalidInput) {
        let query = try Admin.Query(call, Admin.Query.paging + ["q"])
        self.init(size: try query.limit(), after: try query.cursor()?[0] ?? 0, keyword: query.text("q") ?? "")
    }
}

extension Admin.Call {
    /// The number in a part of the path; nil when it is not one.
    func key<Noun>(_ part: String) -> Key<Noun>? { parameters.get(part).flatMap { Int64($0) }.map { Key($0) } }
}
