import BelfryCore
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
            let query = try MapPage(call)
            let found = try await factory.shares.holding(.searches, for: ShareHolder(call.key, application)) {
                try await factory.store.locations(of: application.key, query.query)
            }
            return query.response("locations", found.elements, total: found.total) { $0.spot($1) }
        }

        private func create(_ call: Call, _ application: Application) async throws -> Response {
            let place = try await call.body(as: PlaceBody.self).place()
            let change = call.change("location.create", application, ["name": place.name])
            let location = try await factory.store.audited(change) {
                try await factory.store.create(place, of: application.key)
            }
            return .created(Self.json(location))
        }

        private func show(_ call: Call, _ application: Application) async throws -> Response {
            guard let key: Key<Location> = call.key("location_id"),
                let location = try await factory.store.location(key, of: application.key)
            else { throw APIError.missing("location") }
            return Response(json: Self.json(location))
        }

        /// Fields that are left out stay as they are.
        private func update(_ call: Call, _ application: Application) async throws -> Response {
            guard let key: Key<Location> = call.key("location_id") else { throw APIError.missing("location") }
            let body = try await call.body(as: PlaceBody.self)
            let change = call.change("location.update", application, ["location": "\(key)"])
            let location = try await factory.store.audited(change) {
                guard
                    let location = try await factory.store.update(
                        key, of: application.key, change: { old in try body.place(over: old) })
                else { throw APIError.missing("location") }
                return location
            }
            return Response(json: Self.json(location))
        }

        private func delete(_ call: Call, _ application: Application) async throws -> Response {
            guard let key: Key<Location> = call.key("location_id") else { throw APIError.missing("location") }
            let location = try await factory.unlessDamaged {
                guard let location = try await factory.store.location(key, of: application.key) else {
                    throw APIError.missing("location")
                }
                return location
            }
            let change = call.change("location.delete", application, ["name": location?.place.name ?? "\(key)"])
            _ = try await factory.store.audited(change) { try await factory.store.delete(key, of: application.key) }
            return Response(status: .noContent)
        }

        private static func json(_ location: Location) -> ByteBuffer {
            var json = JSONWriter()
            json.object { $0.spot(location) }
            return json.buffer
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

    /// A page of a list that is paged by numbers inside. Its `limit` is at most `MapQuery.sizeMax`.
    struct MapPage: Sendable {
        let query: MapQuery

        init(_ call: Call) throws(InvalidInput) {
            let asked = try Query(call, Query.paging + ["q"])
            let place = try asked.cursor(of: 2)
            let (page, size) = if let place { (Int(place[0]), Int(place[1])) } else { (1, try asked.limit()) }
            query = MapQuery(page: page, size: size, keyword: asked.text("q") ?? "")
        }

        func response<Item>(
            _ name: StaticString, _ items: [Item], total: Int, _ write: (inout JSONWriter, Item) -> Void
        ) -> Response {
            let isEnd = query.offset + items.count >= total || items.isEmpty
            var json = JSONWriter()
            json.object { json in
                json.integer("total", Int64(total))
                json.array(name, items) { json, item in json.object { json in write(&json, item) } }
                json.next(isEnd ? nil : Cursor(Int64(query.page + 1), Int64(query.size)))
            }
            return Response(json: json.buffer)
        }
    }
}

extension Admin.Call {
    /// The number in a part of the path; nil when it is none.
    func key<Noun>(_ part: String) -> Key<Noun>? { parameters.get(part).flatMap { Int64($0) }.map { Key($0) } }
}

extension JSONWriter {
    /// The fields of a location, as this API has them.
    mutating func spot(_ location: Location) {
        integer("location_id", location.key.rawValue)
        string("name", location.place.name)
        number("latitude", location.place.latitude)
        number("longitude", location.place.longitude)
        number("radius", location.place.radius)
        string("created_at", location.createdAt.text)
        string("updated_at", location.updatedAt.text)
    }
}
