package import BelfryService

extension MemoryStore {
    package func keepDraft(_ text: String, at place: ComposeDraft.Place) async throws {
        let now = clock.now
        transaction { contents in
            contents.drafts[place] = ComposeDraft(text: text, savedAt: now)
            let own = contents.drafts.filter { $0.key.person == place.person }.sorted {
                ($0.value.savedAt, $0.key.application, $0.key.schedule?.rawValue ?? -$0.key.number)
                    > ($1.value.savedAt, $1.key.application, $1.key.schedule?.rawValue ?? -$1.key.number)
            }
            for old in own.dropFirst(ComposeDraft.perPersonMax) { contents.drafts[old.key] = nil }
        }
    }

    package func drafts(
        of person: Key<Person>, in application: Key<Application>
    ) async throws -> [ComposeDraft.Entry] {
        let since = clock.now + (.zero - ComposeDraft.lifetime)
        return contents.drafts.compactMap { place, draft in
            guard place.person == person, place.application == application, place.schedule == nil,
                draft.savedAt >= since
            else { return nil }
            return ComposeDraft.Entry(number: place.number, savedAt: draft.savedAt)
        }.sorted { ($0.savedAt, $1.number) > ($1.savedAt, $0.number) }
    }

    package func draft(at place: ComposeDraft.Place) async throws -> ComposeDraft? {
        let since = clock.now + (.zero - ComposeDraft.lifetime)
        return contents.drafts[place].flatMap { $0.savedAt >= since ? $0 : nil }
    }

    package func deleteDraft(at place: ComposeDraft.Place) async throws -> Bool {
        transaction { $0.drafts.removeValue(forKey: place) != nil }
    }
}
