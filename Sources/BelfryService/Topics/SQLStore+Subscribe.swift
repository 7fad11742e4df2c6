extension SQLStore {
    /// Validates all subscriptions before it writes the first, both in steps, between which other writes run. A device that changes
    /// meanwhile takes those that it still can.
    package func subscribe(
        _ subscriptions: [Subscription], of application: Key<Application>
    ) async throws -> [Subscription.Refusal?] {
        let plan = try await plan(subscriptions, of: application)
        guard !plan.isRefused else { return plan.refusals }
        try await makeTopics(plan.topics, of: application)
        for step in plan.steps {
            try await write { try $0.add(step, in: application) }
        }
        return plan.refusals
    }

    private func plan(
        _ subscriptions: [Subscription], of application: Key<Application>
    ) async throws -> SubscriptionPlan {
        let platforms = try await platforms(of: application)
        let wanted = subscriptions.map { subscription in
            SubscriberCandidate.candidates(subscription.device, on: platforms, naming: secrets.naming)
        }
        let found = try await wanted.inSteps(of: SubscriptionPlan.perWrite) { step, _ in
            try await find(step, of: application)
        }
        var plan = SubscriptionPlan()
        for (subscription, found) in zip(subscriptions, found) { plan.add(subscription, for: found) }
        return plan
    }

    /// Creates those that do not exist, unless they are too many.
    private func makeTopics(_ names: Set<String>, of application: Key<Application>) async throws {
        let now = clock.now
        let missing = try await readCommitted {
            try names.subtracting($0.livingTopics(names, of: application, at: now))
        }
        try SubscriptionPlan.checkNewTopics(missing.count)
        let new = missing.sorted()
        _ = try await new.inSteps(of: NewTopic.perWrite) { step, isFirst in
            try await write { session in
                try session.checkTopics(Set(isFirst ? new : step), of: application)
                return try step.map { try session.intern($0, expiresAt: nil, in: application).topic.key }
            }
        }
    }
}

enum SubscriberStatements {
    static let setTopics: SQLText = "UPDATE device /* subscriber.set_topics */ SET topics = $1 WHERE id = $2"
}
