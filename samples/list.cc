// A little C++ over a large header, for a compiler to work on; samples/README.md shows the trace.
#include <list>

/// Takes the even numbers out, and gives the sum of the others.
int odd(std::list<int> &numbers) {
    numbers.remove_if([](int number) { return number % 2 == 0; });
    int sum = 0;
    for (int number : numbers)
        sum += number;
    return sum;
}
