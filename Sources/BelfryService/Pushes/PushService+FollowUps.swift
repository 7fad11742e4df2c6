import FoundationEssentials

extension PushService {
    /// The result of an update or a retraction.
    package struct Following: Sendable {
        /// nil where nothing had been sent yet.
        package let push: Push?
        /// The devices of `FollowedPush.part` that can do what is asked.
        package let devices: Int
        /// The devices of platforms that cannot.
        package let otherDevices: Int
        package let cancellation: Cancellation
    }

    /// Sends another message to the devices that a push went to, where it takes the place of the first.
    ///
    /// Throws `StoreError.conflict` where no device can replace it, and `InvalidInput` where the message has another collapse key.
    ///
    /// - Parameter pushRequest: its target is ignored. Without a lane it has that of the first.
    package func update(
        _ receipt: Receipt, by pushRequest: PushRequest, of application: Application, by author: AuditAuthor
    ) async throws -> Following {
        let first = try await content(of: receipt)
        let followed = FollowedPush(receipt.push.receiptID, first)
        try followed.check(keysOf: try await resolved(pushRequest.content, of: application.key))
        let devices = try await recipients(of: receipt, followed, application) { followed.isReplaced(first, on: $0) }
        guard devices.isShown else { throw devices.refusal("replace it") }
        var pushRequest = pushRequest
        pushRequest.content.follows = followed
        let push = try await send(pushRequest, to: devices, of: receipt, application, author)
        return Following(
            push: push, devices: devices.able, otherDevices: devices.unable, cancellation: .nothing)
    }

    /// Cancels what is left of a push, and removes it from the devices that it went to.
    ///
    /// Throws `StoreError.conflict` where nothing is left and no device can remove it.
    package func retract(
        _ receipt: Receipt, of application: Application, by author: AuditAuthor
    ) async throws -> Following {
        let first = try await content(of: receipt)
        let followed = FollowedPush(receipt.push.receiptID, first, isRetraction: true)
        let cancellation = try await cancel(receipt, of: application, by: author)
        let devices = try await recipients(of: receipt, followed, application) { followed.isRemoved(first, on: $0) }
        guard devices.isShown else {
            guard cancellation != .nothing else { throw devices.refusal("remove it") }
            return Following(push: nil, devices: 0, otherDevices: devices.unable, cancellation: cancellation)
        }
        let content = try followed.retraction(of: first, at: store.clock.now)
        let push = try await send(
            PushRequest(content: content, target: .everyone), to: devices, of: receipt, application, author)
        return Following(
            push: push, devices: devices.able, otherDevices: devices.unable, cancellation: cancellation)
    }

    private func send(
        _ pushRequest: PushRequest, to devices: Recipients, of receipt: Receipt, _ application: Application,
        _ author: AuditAuthor
    ) async throws -> Push {
        var pushRequest = pushRequest
        pushRequest.target = Target(
            .all([.term(.sent([receipt.push.receiptID])), .term(.platforms(devices.kinds))]))
        pushRequest.lane = pushRequest.lane ?? receipt.push.lane
        return try await send(pushRequest, for: application, by: author, following: receipt)
    }

    private func recipients(
        of receipt: Receipt, _ followed: FollowedPush, _ application: Application, that can: (PlatformKind) -> Bool
    ) async throws -> Recipients {
        try await counts.run(for: application.key) {
            try await Recipients(of: receipt, followed.part, application, in: store, that: can)
        }
    }

    /// The message of a push that may be followed.
    private func content(of receipt: Receipt) async throws -> Push.Content {
        guard let content = try await store.request(of: receipt.push.key)?.content else {
            throw StoreError.conflict("the message of the push is kept no longer")
        }
        guard content.follows?.isRetraction != true else {
            throw StoreError.conflict("the push is a retraction: send it anew instead")
        }
        return content
    }

    /// The devices that a push which follows another goes to.
    private struct Recipients {
        /// The types of platform that can do what is asked.
        private(set) var kinds: [PlatformKind] = []
        private(set) var able = 0
        /// Whether the first push went to a device that can, or goes to one.
        private(set) var isShown = false
        private(set) var unable = 0

        init(
            of receipt: Receipt, _ part: SentPart, _ application: Application, in store: any Store,
            that can: (PlatformKind) -> Bool
        ) async throws {
            let counts = try await store.answerCounts(of: receipt.push.key)
            for platform in try await store.platforms(of: application.key) {
                let answers = counts[platform.key, default: [:]]
                let count = answers.reduce(0) { $0 + (part.includes($1.key) ? $1.value : 0) }
                if can(platform.kind) {
                    able += count
                    isShown = isShown || answers.keys.contains { SentPart.told.includes($0) }
                    if !kinds.contains(platform.kind) { kinds.append(platform.kind) }
                } else {
                    unable += count
                }
            }
        }

        /// - Parameter what: is asked.
        func refusal(_ what: String) -> StoreError {
            unable > 0
                ? .conflict(
                    "no device that the push went to can \(what): see docs/Pushing.md, \"Updating and retracting\"")
                : .conflict("the push went to no device, or its answers are kept no longer")
        }
    }
}
