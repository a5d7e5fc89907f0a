// A list of its own making, for a compiler to work on; samples/README.md shows the trace.

template <typename T> class List {
    struct Node {
        T value;
        Node *next;
    };
    Node *first = nullptr;

public:
    ~List() {
        remove_if([](const T &) { return true; });
    }

    void push(const T &value) { first = new Node{value, first}; }

    template <typename Which> void remove_if(Which which) {
        for (Node **place = &first; *place;) {
            Node *node = *place;
            if (which(node->value)) {
                *place = node->next;
                delete node;
            } else {
                place = &node->next;
            }
        }
    }

    template <typename Visit> void each(Visit visit) const {
        for (Node *node = first; node; node = node->next)
            visit(node->value);
    }
};

/// Takes the even numbers out, and gives the sum of the others.
int odd(List<int> &numbers) {
    numbers.remove_if([](int number) { return number % 2 == 0; });
    int sum = 0;
    numbers.each([&sum](int number) { sum += number; });
    return sum;
}
