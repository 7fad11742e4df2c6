import Hummingbird

extension PCF {
    /// Handlers of `/v1/locations` and `/v1/location_groups`.
    struct Locations: Sendable {
        let store: any Store
        let options: Options
        let places: PlaceService

        func list(_ request: Request, of application: Application) async throws -> Response {
            let query = try GeoListQuery(request)
            let listing = try await store.locations(of: application.key, query)
            return .written { json in
                json.listing(listing, query, key: "locations", total: "totalLocations") { $0.location($1) }
            }
        }

        func show(_ key: Key<Location>, of application: Application) async throws -> Response {
            reply(try await PCF.found("location \(key)") { try await store.location(key, of: application.key) })
        }

        func create(_ request: Request, for application: Application) async throws -> Response {
            let body = try LocationRequest.parse(try await request.bytes(atMost: options.bodyBytesMax))
            return reply(
                try await places.create(try body.place(over: nil), of: application, by: .backEnd(of: application)))
        }

        func update(
            _ key: Key<Location>, _ request: Request, of application: Application
        ) async throws -> Response {
            let body = try LocationRequest.parse(try await request.bytes(atMost: options.bodyBytesMax))
            return reply(
                try await PCF.found("location \(key)") {
                    try await places.update(key, of: application, by: .backEnd(of: application)) {
                        try body.place(over: $0)
                    }
                })
        }

        func delete(_ key: Key<Location>, of application: Application) async throws -> Response {
            try await PCF.found("location \(key)") {
                try await places.delete(key, named: nil, of: application, by: .backEnd(of: application))
            }
            return Response(status: .noContent)
        }

        private func reply(_ location: Location) -> Response { .written { $0.location(location) } }
    }
}

extension PCF.Locations {
    func listGroups(_ request: Request, of application: Application) async throws -> Response {
        let query = try GeoListQuery(request)
        let listing = try await store.locationGroups(of: application.key, query)
        return .written { json in
            json.listing(listing, query, key: "location_groups", total: "totalLocationGroups") { $0.group($1) }
        }
    }

    func show(_ key: Key<LocationGroup>, of application: Application) async throws -> Response {
        reply(
            try await PCF.found("location group \(key)") { try await store.locationGroup(key, of: application.key) })
    }

    func createGroup(_ request: Request, for application: Application) async throws -> Response {
        let body = try PCF.LocationGroupRequest.parse(try await request.bytes(atMost: options.bodyBytesMax))
        return reply(
            try await places.create(try body.plan(over: nil), of: application, by: .backEnd(of: application)))
    }

    func update(
        _ key: Key<LocationGroup>, _ request: Request, of application: Application
    ) async throws -> Response {
        let body = try PCF.LocationGroupRequest.parse(try await request.bytes(atMost: options.bodyBytesMax))
        return reply(
            try await PCF.found("location group \(key)") {
                try await places.update(key, of: application, by: .backEnd(of: application)) { try body.plan(over: $0) }
            })
    }

    func delete(_ key: Key<LocationGroup>, of application: Application) async throws -> Response {
        try await PCF.found("location group \(key)") {
            try await places.delete(key, named: nil, of: application, by: .backEnd(of: application))
        }
        return Response(status: .noContent)
    }

    private func reply(_ group: LocationGroup) -> Response { .written { $0.group(group) } }
}

extension JSONWriter {
    /// Degrees are strings, as the original service wrote them.
    mutating func location(_ location: Location) {
        object { json in
            json.place(location)
            json.integer("created_at", location.createdAt.milliseconds)
            json.integer("updated_at", location.updatedAt.milliseconds)
        }
    }

    /// Writes a group, whose locations alone have their times under other names.
    fileprivate mutating func group(_ group: LocationGroup) {
        object { json in
            json.integer("id", group.key.rawValue)
            json.string("name", group.name)
            json.string("description", group.summary)
            json.array("locations", group.locations) { json, location in
                json.object { json in
                    json.place(location)
                    json.integer("createdAt", location.createdAt.milliseconds)
                    json.integer("updatedAt", location.updatedAt.milliseconds)
                }
            }
            json.integer("created_at", group.createdAt.milliseconds)
            json.integer("updated_at", group.updatedAt.milliseconds)
        }
    }

    private mutating func place(_ location: Location) {
        integer("id", location.key.rawValue)
        string("name", location.place.name)
        string("lat", String(location.place.latitude))
        string("long", String(location.place.longitude))
        number("rad", location.place.radius)
    }
}
