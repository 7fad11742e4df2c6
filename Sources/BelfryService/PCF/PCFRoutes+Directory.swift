import HTTPTypes
import Hummingbird

/// Routes for registrations, topics, custom user ids and legacy tags.
extension PCFRoutes {
    func addDirectory(to router: Router<APIContext>) {
        let list = PCF.RegistrationList(store: store)
        serve(
            "v2/registrations", on: router,
            [.get: asApplication(using: .searches) { try await list.registrations($0, of: $1) }])
        for version in ["v2", "v1"] {
            serve(
                RouterPath("\(version)/custom_user_ids"), on: router,
                [.get: asApplicationExporting { try await list.customUserIDs($0, of: $1) }])
            addTopics("\(version)/topics", to: router)
        }
        addTags(to: router)
    }

    private func addTopics(_ path: String, to router: Router<APIContext>) {
        let topics = PCF.Topics(store: store, clock: clock, options: options, topics: services.topics)
        serve(
            RouterPath(path), on: router,
            [
                .get: asApplication(using: .searches) { try await topics.list($0, of: $1) },
                .post: asApplication { try await topics.create($0, for: $1) },
            ])
        serve(
            RouterPath("\(path)/batch"), on: router,
            [
                .post: asApplication(using: .batches) { try await topics.createBatch($0, for: $1) },
                .delete: asApplication(using: .batches) { try await topics.deleteBatch($0, of: $1) },
            ])
        serve(
            RouterPath("\(path)/:topic_id"), on: router,
            [.delete: asApplication { try await topics.delete($0, of: $1) }])
    }

    private func addTags(to router: Router<APIContext>) {
        let tags = PCF.Tags(store: store, clock: clock, options: options, topics: services.topics)
        serve("v1/tags", on: router, [.get: asApplicationExporting { try await tags.list(of: $1) }])
        serve(
            "v1/tags/all/:tag", on: router, [.get: asApplicationExporting { try await tags.registrations($0, of: $1) }])
        // The router requires one name for a position in a path, whatever follows.
        serve(
            "v1/tags/count/:tag_or_platform", on: router,
            [.get: asApplication(using: .searches) { try await tags.count($0, of: $1) }])
        serve(
            "v1/tags/count/:tag_or_platform/:tag", on: router,
            [.get: asApplication(using: .searches) { try await tags.countOnPlatform($0, of: $1) }])
        let delete = asApplication { try await tags.delete($0, of: $1) }
        serve(
            "v1/tags/batch", on: router,
            [.post: asApplication(using: .batches) { try await tags.subscribe($0, of: $1) }, .delete: delete])
        // A tag may have the name of another path.
        for path in ["v1/tags/all", "v1/tags/count", "v1/tags/:tag"] as [RouterPath] {
            serve(path, on: router, [.post: asApplication { try await tags.create($0, for: $1) }, .delete: delete])
        }
    }
}
