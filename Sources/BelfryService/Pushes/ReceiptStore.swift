package import FoundationEssentials

/// Lists of pushes and receipts.
package protocol ReceiptStore: Sendable {
    /// The application's pushes, newest first, before `before`.
    func receipts(of application: Key<Application>, before: Key<Push>?, limit: Int) async throws -> [Receipt]
    /// The application's unsettled pushes, newest first.
    func openReceipts(of application: Key<Application>, limit: Int) async throws -> [Receipt]
    /// The application's pushes without their counters, newest first, before `before`.
    func pushes(of application: Key<Application>, before: Key<Push>?, limit: Int) async throws -> [PushHead]
    /// The message and the target of a push; nil once it was deleted, or if it was made without a target. Throws
    /// `StoreError.damaged` when they cannot be read.
    func request(of push: Key<Push>) async throws -> PushRequest?
    /// Returns what `read` makes of the message of each push; one message at a time is in memory. Pushes that were deleted
    /// or cannot be read are left out.
    func contents<Value: Sendable>(
        of pushes: [Key<Push>], _ read: @escaping @Sendable (Push.Content) -> Value
    ) async throws -> [Key<Push>: Value]
    /// The answers of a push on each platform, deleted platforms too; `pending` counts devices without one. Reads all
    /// batches of the push.
    func answerCounts(of push: Key<Push>) async throws -> [Key<Platform>: [Answer: Int]]
    /// When the push's devices were answered. Reads all batches of the push.
    func answerTimes(of push: Key<Push>) async throws -> AnswerTimes
    /// The devices of a push with an answer of one kind, by platform and device, after `after`.
    ///
    /// A store reads a bounded number of batches: it may find fewer than `limit`, or none, and still return a `next`.
    func answers(
        in push: Key<Push>, kind: Answer.Kind, after: AnswerCursor?, limit: Int
    ) async throws -> AnswerPage
}

/// The position of a reader in the answers of a push.
package struct AnswerCursor: Sendable, Hashable {
    package let platform: Key<Platform>
    package let device: Key<Device>

    package init(platform: Key<Platform>, device: Key<Device>) {
        self.platform = platform
        self.device = device
    }
}

/// A page of the devices with an answer of one kind.
package struct AnswerPage: Sendable, Hashable {
    package let answers: [DeviceAnswer]
    /// nil when there are no more.
    package let next: AnswerCursor?

    /// Returns the page with other UUIDs for some of its devices.
    package func renamed(_ names: [UUID: UUID]) -> AnswerPage {
        AnswerPage(
            answers: answers.map {
                DeviceAnswer(uuid: names[$0.uuid] ?? $0.uuid, platform: $0.platform, answer: $0.answer)
            },
            next: next)
    }

    package init(answers: [DeviceAnswer], next: AnswerCursor?) {
        self.answers = answers
        self.next = next
    }
}

/// A device of a push, and its answer.
package struct DeviceAnswer: Sendable, Hashable {
    package let uuid: UUID
    package let platform: Key<Platform>
    package let answer: Answer

    package init(uuid: UUID, platform: Key<Platform>, answer: Answer) {
        self.uuid = uuid
        self.platform = platform
        self.answer = answer
    }
}
