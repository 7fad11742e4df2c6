package import FoundationEssentials

/// Pushes as those see them who look at many.
package protocol ReceiptStore: Sendable {
    /// The application's pushes, newest first, before `before`.
    func receipts(of application: Key<Application>, before: Key<Push>?, limit: Int) async throws -> [Receipt]
    /// Those of the application's pushes that are not settled, newest first.
    func openReceipts(of application: Key<Application>, limit: Int) async throws -> [Receipt]
    /// The application's pushes without what became of them, newest first, before `before`.
    func pushes(of application: Key<Application>, before: Key<Push>?, limit: Int) async throws -> [PushHead]
    /// The message and the target of a push; nil once it is forgotten, or where it was made without a target. Throws
    /// `StoreError.damaged` when they cannot be read.
    func request(of push: Key<Push>) async throws -> PushRequest?
    /// What became of a push on each platform, deleted ones too; `pending` holds those that still wait. Reads all
    /// batches of the push.
    func answerCounts(of push: Key<Push>) async throws -> [Key<Platform>: [Answer: Int]]
    /// The devices of a push with an answer of one kind, by platform and device, after `after`.
    ///
    /// A store looks at a bounded number of batches: it may find fewer than `limit`, or none, and still give a `next`.
    func answers(
        in push: Key<Push>, kind: Answer.Kind, after: AnswerCursor?, limit: Int
    ) async throws -> AnswerPage
}

/// How far a reader came through the answers of a push.
package struct AnswerCursor: Sendable, Hashable {
    package let platform: Key<Platform>
    package let device: Key<Device>

    package init(platform: Key<Platform>, device: Key<Device>) {
        self.platform = platform
        self.device = device
    }
}

package struct AnswerPage: Sendable, Hashable {
    package let answers: [DeviceAnswer]
    /// nil when there are no more.
    package let next: AnswerCursor?

    package init(answers: [DeviceAnswer], next: AnswerCursor?) {
        self.answers = answers
        self.next = next
    }
}

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
