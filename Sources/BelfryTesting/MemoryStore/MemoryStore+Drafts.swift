package import BelfryCore

extension MemoryStore {
    package func keepDraft(_ text: String, at place: ComposeDraft.Place) async throws {
        let now = clock.now
        transaction { contents in
            contents.drafts[place] = ComposeDraft(text: text, savedAt: now)
            let own = contents.drafts.filter { $0.key.person == place.person }.sorted {
                ($0.value.savedAt, $0.key.application, $0.key.schedule ?? Key(0))
                    > ($1.value.savedAt, $1.key.application, $1.key.schedule ?? Key(0))
            }
            for old in own.dropFirst(ComposeDraft.perPersonMax) { contents.drafts[old.key] = nil }
        }
    }

    package func draft(at place: ComposeDraft.Place) async throws -> ComposeDraft? {
        let since = clock.now + (.zero - ComposeDraft.lifetime)
        return contents.drafts[place].flatMap { $0.savedAt >= since ? $0 : nil }
    }

    package func deleteDraft(at place: ComposeDraft.Place) async throws -> Bool {
        transaction { $0.drafts.removeValue(forKey: place) != nil }
    }
}
